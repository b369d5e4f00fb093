"""Writes each argument (hex) in one write; before all but the first it waits for a line."""

import os
import sys

for number, argument in enumerate(sys.argv[1:]):
    if number:
        sys.stdin.readline()
    os.write(1, bytes.fromhex(argument))
