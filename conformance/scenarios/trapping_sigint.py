"""A plain process that is interrupted as a harness is: it holds a stream open, and traps SIGINT to end in order.

Run as a plain file, so it uses the standard library only: `python -I -S trapping_sigint.py PORT`.
"""

import signal
import socket
import sys


def main(port: int) -> None:
    """Hold a connection until SIGINT comes; say so, close it, say that it is over."""
    with socket.create_connection(("127.0.0.1", port)):
        try:
            print("ready", flush=True)
            while True:
                signal.pause()
        except KeyboardInterrupt:
            print("acknowledged", flush=True)
    print("ended", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
