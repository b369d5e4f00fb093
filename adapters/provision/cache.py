"""The folder that holds the installed harnesses.

Layout: `harnesses/NAME/VERSION/` is one finished installation; `partial/` holds those under way, which are renamed
into place in one step; `locks/` holds one lock file per installation. The kernel drops a lock when its holder dies,
so a lock is never stale.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from checkrein.adapters.provision.errors import CacheNotWritable, DiskFull, InstallBusy

#: Seconds between two tries for a lock: flock can wait without a deadline or not wait, nothing between.
_LOCK_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessCache:
    """The cache at one place.

    Args:
        root: its top folder; need not exist.
    """

    root: Path

    def entry(self, harness: str, version: str) -> Path:
        """The folder of one finished installation."""
        return self.root / "harnesses" / harness / version

    def versions(self, harness: str) -> tuple[str, ...]:
        """Versions of a harness that have a folder, in the order of their names."""
        folder = self.root / "harnesses" / harness
        return (
            tuple(sorted(path.name for path in folder.iterdir() if path.is_dir())) if folder.is_dir() else ()
        )

    def size(self) -> int:
        """Bytes that the whole cache holds."""
        return tree_size(self.root)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Turn the faults of the file system inside the block into errors that say what to do.

        Raises:
            DiskFull: no space or quota is left.
            CacheNotWritable: any other refusal of the operating system.
        """
        try:
            yield
        except OSError as fault:
            if fault.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull(cache=self.root) from fault
            raise CacheNotWritable(cache=self.root, reason=fault.strerror or str(fault)) from fault

    @contextmanager
    def lock(
        self, harness: str, version: str, *, deadline_seconds: float, on_wait: Callable[[], None]
    ) -> Generator[None]:
        """Hold the installation of one version against other processes.

        Args:
            harness: name of the harness.
            version: its version.
            deadline_seconds: how long to wait for another process.
            on_wait: called once if another process holds it.

        Raises:
            InstallBusy: the other process did not end in time.
            CacheNotWritable: the lock file cannot be made.
        """
        path = self.root / "locks" / f"{harness}@{version}.lock"
        with self.writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            limit = time.monotonic() + deadline_seconds
            waited = False
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= limit:
                        raise InstallBusy(lock=path, seconds=deadline_seconds) from None
                if not waited:
                    on_wait()
                    waited = True
                time.sleep(_LOCK_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def partial(self, harness: str, version: str) -> Generator[Path]:
        """A new folder to build an installation in; whatever is left of it at the end of the block is removed.

        Hold the lock of that version: folders that an earlier, killed process left behind are removed first.
        """
        parent = self.root / "partial" / f"{harness}@{version}"
        with self.writing():
            shutil.rmtree(parent, ignore_errors=True)
            parent.mkdir(parents=True)
            folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(parent, ignore_errors=True)

    def publish(self, folder: Path, harness: str, version: str) -> Path:
        """Move a finished folder to its place in one step, in exchange for what was there. Hold the lock.

        Raises:
            DiskFull: no space is left.
            CacheNotWritable: the move was refused.
        """
        target = self.entry(harness, version)
        with self.writing():
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.exists():
                target.rename(folder.parent / "replaced")
            folder.rename(target)
        return target


def default_cache(environment: Mapping[str, str] = os.environ) -> HarnessCache:
    """The cache that the environment names: `CHECKREIN_CACHE`, else `checkrein` in the XDG cache folder."""
    if chosen := environment.get("CHECKREIN_CACHE"):
        return HarnessCache(root=Path(chosen).expanduser().absolute())
    xdg = environment.get("XDG_CACHE_HOME", "")
    # The specification of the XDG folders tells to ignore a relative path.
    base = Path(xdg) if xdg.startswith("/") else Path.home() / ".cache"
    return HarnessCache(root=base / "checkrein")


def tree_size(folder: Path) -> int:
    """Bytes of the files below a folder; files that vanish meanwhile do not count."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - hot: thousands of files
            except FileNotFoundError:
                continue
    return total
