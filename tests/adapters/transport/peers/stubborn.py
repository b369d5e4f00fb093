"""Does not end at the end of its input, nor (with the argument `term`) by SIGTERM."""

import signal
import sys

if "term" in sys.argv[1:]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
