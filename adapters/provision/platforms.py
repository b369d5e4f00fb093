"""Which machine this is, in the words that install tables use."""

from __future__ import annotations

import platform
import sys

#: The machine names that Python reports, in the words of Node and npm.
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def platform_name(*, system: str = sys.platform, machine: str | None = None, libc: str | None = None) -> str:
    """Name of a platform, such as `linux-x64-glibc`, `linux-arm64-musl` or `darwin-arm64`.

    Args:
        system: as `sys.platform` says it.
        machine: as `platform.machine()` says it; None for this machine.
        libc: `glibc` or `musl`; None for this machine. It counts on Linux only.
    """
    machine = platform.machine() if machine is None else machine
    architecture = _ARCHITECTURES.get(machine.lower(), machine.lower())
    if system != "linux":
        return f"{system}-{architecture}"
    return f"linux-{architecture}-{_libc() if libc is None else libc}"


def _libc() -> str:
    # libc_ver() reads the interpreter's own file: it names glibc, and nothing on musl.
    return "glibc" if platform.libc_ver()[0] == "glibc" else "musl"
