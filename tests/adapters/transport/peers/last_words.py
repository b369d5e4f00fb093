"""At the end of its input it writes more than a pipe holds, then ends."""

import sys

print("ready", flush=True)
sys.stdin.read()
for number in range(4096):
    print(f"{number} " + "z" * 1000)
