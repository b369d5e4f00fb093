"""A driver program: starts the family, prints what it says, and waits to be killed.

Arguments: the event loop, and `fork` to leave a forked child behind that holds copies of all its descriptors.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from checkrein.adapters.transport import HarnessProcess


async def main() -> None:
    process = await HarnessProcess.start(
        [sys.executable, str(Path(__file__).with_name("family.py"))], cwd="/"
    )
    async for batch in process.batches():
        copy = 0
        if "fork" in sys.argv[2:]:
            copy = os.fork()
            if copy == 0:
                signal.pause()
        print(batch[0].decode(), copy, flush=True)
        break
    await anyio.sleep_forever()


anyio.run(main, backend=sys.argv[1])
