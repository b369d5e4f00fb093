"""`python -m checkrein.conformance` is the command line, for where the script is not on PATH."""

from checkrein.conformance.cli import main

main()
