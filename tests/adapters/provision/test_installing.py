"""A real npm package goes into the cache, once, whole, and without touching the user's npm."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from checkrein.adapters.provision import (
    HarnessCache,
    NpmSource,
    Phase,
    Progress,
    install_harness,
    locate_harness,
)
from checkrein.adapters.provision.errors import NoNetwork
from checkrein.adapters.provision.npm import Node, find_node, node_version

#: As npm publishes it; a registry that serves another content for this version must not pass.
IS_NUMBER_7 = (
    "sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng=="
)

INSTALL_IN_ANOTHER_PROCESS = """
import sys
from pathlib import Path
from checkrein.adapters.provision import HarnessCache, NpmSource, install_harness
from checkrein.adapters.provision.platforms import platform_name
source = NpmSource(
    harness="small", versions_of="is-number", package="is-number", version="{version}", binary="index.js",
    platforms={platform_name(): {}},
)
phases = []
install_harness(
    "small@7.0.0", cache=HarnessCache(root=Path(sys.argv[1])), source=source,
    on_progress=lambda progress: phases.append(progress.phase.value),
)
print(*phases)
"""

INSTALL_WITH_ANOTHER_NODE = """
from pathlib import Path
from checkrein.adapters.provision import HarnessCache, install_harness
from checkrein.adapters.provision.npm import Node
install_harness(
    "codex@0.0.1", cache=HarnessCache(root=Path({cache!r})), node=Node(binary=Path({node!r}), npm_cli=Path("npm"))
)
"""


def test_an_installation_is_recorded_with_what_proves_it(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    installed = install_harness("small", cache=cache, source=small_source)

    assert (installed.harness, installed.version, installed.package) == ("small", "7.0.0", "is-number@7.0.0")
    assert installed.integrity == IS_NUMBER_7
    assert installed.binary_sha256 == hashlib.sha256(installed.binary.read_bytes()).hexdigest()
    assert installed.node_version == node_version(find_node())
    record = json.loads((cache.entry("small", "7.0.0") / "installed.json").read_text())
    assert record["integrity"] == IS_NUMBER_7
    assert installed.binary == cache.entry("small", "7.0.0") / record["binary"]


def test_the_progress_tells_each_phase_once_in_order(cache: HarnessCache, small_source: NpmSource) -> None:
    seen: list[Progress] = []
    install_harness("small@7.0.0", cache=cache, source=small_source, on_progress=seen.append)

    phases = list(dict.fromkeys(progress.phase for progress in seen))
    assert phases == [Phase.DOWNLOADING, Phase.CHECKING, Phase.INSTALLED]
    assert seen[-1].bytes_written > 0


def test_a_version_that_is_there_is_not_installed_again(cache: HarnessCache, small_source: NpmSource) -> None:
    first = install_harness("small", cache=cache, source=small_source)
    seen: list[Phase] = []
    second = install_harness(
        "small", cache=cache, source=small_source, on_progress=lambda progress: seen.append(progress.phase)
    )

    assert second == first
    assert seen == [Phase.ALREADY]


def test_a_tag_becomes_the_version_that_it_names(cache: HarnessCache, small_source: NpmSource) -> None:
    installed = install_harness("small@latest", cache=cache, source=small_source)

    assert installed.version == "7.0.0"
    assert locate_harness("small@7.0.0", cache=cache, source=small_source) == installed


def test_two_processes_that_install_the_same_version_do_it_once(cache: HarnessCache) -> None:
    command = [sys.executable, "-c", INSTALL_IN_ANOTHER_PROCESS, str(cache.root)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        outputs = [process.communicate(timeout=120)[0].split() for process in processes]
    finally:
        for process in processes:
            process.kill()

    assert [process.returncode for process in processes] == [0, 0]
    assert sorted("downloading" in phases for phases in outputs) == [False, True]
    assert cache.versions("small") == ("7.0.0",)


def test_nothing_but_the_entry_is_left_behind(cache: HarnessCache, small_source: NpmSource) -> None:
    install_harness("small", cache=cache, source=small_source)

    assert sorted(path.name for path in cache.entry("small", "7.0.0").iterdir()) == [
        "installed.json",
        "node_modules",
        "package-lock.json",
        "package.json",
    ]
    assert list((cache.root / "partial").iterdir()) == []


def test_what_a_killed_installation_left_is_cleared_away(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    left = cache.root / "partial" / "small@7.0.0" / "abandoned" / "entry"
    left.mkdir(parents=True)

    install_harness("small", cache=cache, source=small_source)

    assert not left.exists()


def test_the_home_and_the_npmrc_of_the_user_stay_as_they_are(
    cache: HarnessCache, small_source: NpmSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    # Were these settings followed, npm would write a log there and run under another prefix.
    (home / ".npmrc").write_text(f"cache={home}/npm-cache\nprefix={home}/prefix\nignore-scripts=false\n")
    monkeypatch.setenv("HOME", str(home))

    install_harness("small", cache=cache, source=small_source)

    assert [path.name for path in home.iterdir()] == [".npmrc"]


def test_the_registry_of_the_users_npmrc_is_the_one_that_is_asked(
    cache: HarnessCache, small_source: NpmSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".npmrc").write_text("registry=http://127.0.0.1:9/\nfetch-retries=0\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("npm_config_userconfig", raising=False)
    monkeypatch.delenv("npm_config_registry", raising=False)

    with pytest.raises(NoNetwork) as caught:
        install_harness("small", cache=cache, source=small_source)

    assert "127.0.0.1:9" in caught.value.where


def test_a_damaged_entry_is_replaced(cache: HarnessCache, small_source: NpmSource) -> None:
    first = install_harness("small", cache=cache, source=small_source)
    first.binary.write_text("something else")

    second = install_harness("small", cache=cache, source=small_source)

    assert second.binary_sha256 == first.binary_sha256
    assert hashlib.sha256(second.binary.read_bytes()).hexdigest() == first.binary_sha256


def test_npm_ends_with_the_process_that_installs(
    cache: HarnessCache, npm_that_says: Callable[[str], Node], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "fifo")
    node = npm_that_says(f'echo $$ > "{tmp_path}/fifo"; exec sleep 60')
    code = INSTALL_WITH_ANOTHER_NODE.format(cache=str(cache.root), node=str(node.binary))
    reading = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(reading) as fifo, subprocess.Popen([sys.executable, "-c", code]) as installer:
        try:
            assert select.select([fifo], [], [], 30)[0]
            npm = psutil.Process(int(fifo.readline()))
        finally:
            installer.kill()
        gone, _ = psutil.wait_procs([npm], timeout=30)

    assert gone == [npm]
