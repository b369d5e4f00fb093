"""Becomes the harness's program as soon as it is told the command line: one line of JSON on standard input.

Run as `python -I -S -X utf8 starter.py [VARIABLE]...`, apart from checkrein: it imports nothing of it. The environment,
the directory and the process id stay, but for the named variables, which Python itself has set; the standard input of
the program is empty.
"""

import json
import os
import signal
import sys

#: What it says when it has taken the command line; the next byte of its output is the program's.
STARTED = b'{"checkrein":"started"}\n'

#: Exit status when the program cannot be run, as shells have it.
CANNOT_RUN = 126

#: Python ignores these, and a program that it becomes would too.
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ")


def main() -> None:
    """Wait for the command line, and become the program; end when the input ends without one."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, 65536)
        if not data:
            return
        line += data
    argv: list[str] = json.loads(line)["argv"]
    os.write(1, STARTED)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in sys.argv[1:]:
        os.environ.pop(name, None)
    for name in _IGNORED_BY_PYTHON:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    try:
        os.execv(argv[0], argv)
    except OSError as fault:
        sys.stderr.write(f"{argv[0]} cannot be run: {fault.strerror}\n")
        sys.exit(CANNOT_RUN)


if __name__ == "__main__":
    main()
