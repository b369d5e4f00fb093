"""A harness with tools: one plain child, and one that moved to its own session and lost its parent (setsid, two forks).

Both keep the standard output open. Prints their ids, then sends lines back until its input ends; leaves them alive.
"""

import json
import os
import signal
import subprocess
import sys

PAUSE = "import signal\nwhile True: signal.pause()"

tool = subprocess.Popen([sys.executable, "-S", "-c", PAUSE])

read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(read)
        os.write(write, b"%d\n" % os.getpid())
        os.close(write)
        while True:
            signal.pause()
    os._exit(0)
os.close(write)
os.wait()
with os.fdopen(read) as pipe:
    stray = int(pipe.readline())

print(json.dumps({"cli": os.getpid(), "guard": os.getppid(), "tool": tool.pid, "stray": stray}), flush=True)
for line in sys.stdin:
    print(line, end="", flush=True)
