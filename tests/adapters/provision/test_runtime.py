"""What runs a harness's program: the program itself, or the Node of this Python environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters.interface import HarnessBinary
from checkrein.adapters.provision import HarnessCache, NpmSource, install_harness, launcher_of, runtime
from checkrein.adapters.provision.errors import NodeMissing, NodeTooOld
from checkrein.adapters.provision.npm import find_node
from checkrein.adapters.provision.platforms import platform_name


def test_a_native_executable_runs_by_itself() -> None:
    assert launcher_of(Path("/opt/codex"), harness="codex") == ()
    assert HarnessBinary(path=Path("/opt/codex"), version=None, sha256="").command == ("/opt/codex",)


@pytest.mark.parametrize("harness", ["pi", "codex"])
def test_javascript_is_run_by_the_node_of_this_environment(harness: str) -> None:
    launcher = launcher_of(Path("/opt/cli.js"), harness=harness)
    assert launcher == (str(find_node().binary),)
    binary = HarnessBinary(path=Path("/opt/cli.js"), version=None, sha256="", launcher=launcher)
    assert binary.command == (*launcher, "/opt/cli.js")


@pytest.mark.parametrize(
    ("found", "oldest", "runs"),
    [
        ("22.19.0", "22.19.0", True),
        ("24.1.0", "22.19.0", True),
        ("22.9.0", "22.19.0", False),
        ("20.20.2", "22.19.0", False),
    ],
)
def test_a_node_that_is_too_old_is_found_out_before_anything_runs(
    found: str, oldest: str, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(_: str) -> str:
        return found

    monkeypatch.setattr(runtime, "version", version)
    if runs:
        runtime.check_node("pi", oldest)
        return
    with pytest.raises(
        NodeTooOld, match=f"pi needs Node {oldest}, the one of this Python environment is {found}"
    ):
        runtime.check_node("pi", oldest)
    with pytest.raises(NodeTooOld):
        launcher_of(Path("/opt/cli.js"), harness="pi")


def test_a_harness_is_not_installed_for_a_node_that_is_too_old(cache: HarnessCache) -> None:
    source = NpmSource(
        harness="small",
        versions_of="is-number",
        package="is-number",
        version="{version}",
        binary="index.js",
        platforms={platform_name(): {}},
        default_version="7.0.0",
        node="999.0.0",
    )
    with pytest.raises(NodeTooOld, match=r"999\.0\.0"):
        install_harness("small", cache=cache, source=source)
    assert not cache.entry("small", "7.0.0").exists()


def test_without_a_node_javascript_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_package(_: str) -> str:
        raise runtime.PackageNotFoundError

    monkeypatch.setattr(runtime, "version", no_such_package)
    with pytest.raises(NodeMissing):
        runtime.check_node("pi", "22.19.0")
