"""The process behind a held tool: says that it runs, waits, then prints and exits as it is told.

Run as a plain file by the harness's shell, so it uses the standard library only:
`python -I -S held_process.py SOCKET SESSION-AND-NAME [ignore-signals]`.
"""

import json
import os
import signal
import socket
import sys

#: Exit status when the kit is gone and nobody can release the process any more (EX_TEMPFAIL).
ABANDONED = 75


def main(arguments: list[str]) -> int:
    """Run the held process and return its exit status."""
    path, name, *options = arguments
    if "ignore-signals" in options:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        try:
            link.connect(path)
            link.sendall(json.dumps({"name": name, "pid": os.getpid()}).encode() + b"\n")
            received = b""
            while not received.endswith(b"\n"):
                piece = link.recv(65536)
                if not piece:
                    return ABANDONED
                received += piece
        except OSError as error:
            print(f"held tool {name}: the kit cannot be reached at {path}: {error}", file=sys.stderr)
            return ABANDONED
    order = json.loads(received)
    sys.stdout.write(order["output"])
    sys.stdout.flush()
    return int(order["exit_status"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
