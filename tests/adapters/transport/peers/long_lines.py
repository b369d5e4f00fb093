"""Writes one line of the length that each argument says, made of the last digit of its number."""

import sys

for number, length in enumerate(sys.argv[1:]):
    sys.stdout.buffer.write(str(number % 10).encode() * int(length) + b"\n")
