"""`checkrein`, also as `python -m checkrein.conformance`: ctrl-c is an exit status from the first moment on."""

import sys
from typing import NoReturn

#: What a shell reports for a program that SIGINT ended.
INTERRUPTED = 130


def main() -> NoReturn:
    """Load the command line, which takes about a second, and run it."""
    try:
        from checkrein.conformance.cli import main as run  # the slow part: ctrl-c may fall into it

        run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
