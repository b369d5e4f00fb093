"""`checkrein` as a person meets it: what it prints, and with which exit status it ends."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from rich.console import Console

from checkrein.adapters.errors import CheckreinError
from checkrein.adapters.provision import HarnessCache, InstalledHarness, default_cache, known_harnesses
from checkrein.conformance.environment import State, examine_machine
from checkrein.conformance.rendering import render_error


def checkrein(*arguments: str, cache: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "checkrein.conformance", *arguments],
        env=os.environ | {"CHECKREIN_CACHE": str(cache), "COLUMNS": "200", "NO_COLOR": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    run = checkrein("--version", cache=tmp_path)

    assert (run.returncode, run.stdout) == (0, f"checkrein {version('checkrein')}\n")


@pytest.mark.parametrize("arguments", [("frobnicate",), ("install",), ("install", "--frob", "codex"), ()])
def test_a_wrong_command_line_is_told_and_ends_with_2(arguments: tuple[str, ...], tmp_path: Path) -> None:
    run = checkrein(*arguments, cache=tmp_path)

    assert run.returncode == 2
    assert "Usage:" in run.stdout + run.stderr


def test_an_error_says_what_and_what_to_do_without_a_traceback(tmp_path: Path) -> None:
    run = checkrein("install", "nosuch", cache=tmp_path)

    assert run.returncode == 2
    assert run.stdout == ""
    assert (
        run.stderr
        == f"error: there is no harness 'nosuch'\nto do: the known ones are {', '.join(known_harnesses())}\n"
    )


@pytest.mark.parametrize("wrong", ["not a harness", "nosuch"])
def test_nothing_is_installed_when_one_of_the_names_is_wrong(wrong: str, tmp_path: Path) -> None:
    run = checkrein("install", "codex", wrong, cache=tmp_path / "cache")

    assert run.returncode == 2
    assert not (tmp_path / "cache").exists()


def test_without_a_network_it_ends_with_3_and_names_the_settings(tmp_path: Path) -> None:
    run = checkrein(
        "install",
        "codex",
        cache=tmp_path,
        npm_config_registry="http://127.0.0.1:9/",
        npm_config_fetch_retries="0",
    )

    assert run.returncode == 3
    lines = run.stderr.splitlines()
    assert lines[0] == "error: npm could not reach its registry (ECONNREFUSED)"
    assert lines[-1].startswith("to do: check the network")
    assert len(lines) == 3


def test_a_harness_that_is_there_is_named_with_its_binary(real_codex: InstalledHarness) -> None:
    run = checkrein("install", f"codex@{real_codex.version}", cache=default_cache().root)

    assert run.returncode == 0
    assert f"codex {real_codex.version}: is there already" in run.stdout
    assert str(real_codex.binary) in run.stdout


def test_ctrl_c_during_an_installation_ends_it_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process = subprocess.Popen(
        [sys.executable, "-m", "checkrein.conformance", "install", "codex"],
        env=os.environ | {"CHECKREIN_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            # npm is under way from this line on.
            assert "npm downloads" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        finally:
            process.kill()

    assert process.returncode == 130, errors
    assert errors == ""
    assert list((cache / "partial").iterdir()) == []
    assert not (cache / "harnesses").exists()


@pytest.mark.usefixtures("real_claude_code", "real_codex")
def test_the_doctor_finds_a_machine_with_everything_well() -> None:
    run = checkrein("doctor", cache=default_cache().root)

    assert run.returncode == 0, run.stdout
    for subject in (
        "Python",
        "Node and npm",
        "git",
        "cache",
        "free disk",
        "claude-code",
        "codex",
        "offline runs",
    ):
        assert subject in run.stdout
    assert "missing" not in run.stdout


def test_the_doctor_ends_with_3_and_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    run = checkrein("doctor", cache=tmp_path / "not-made-yet")

    assert run.returncode == 3
    assert "run: checkrein install claude-code" in run.stdout
    assert "run: checkrein install codex" in run.stdout
    assert not (tmp_path / "not-made-yet").exists()


def test_the_doctor_misses_git_when_it_is_not_on_the_path(tmp_path: Path) -> None:
    run = checkrein("doctor", cache=tmp_path, PATH=str(tmp_path))

    assert run.returncode == 3
    assert "not on PATH" in run.stdout


def test_the_doctor_names_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    states = {
        finding.subject: finding
        for finding in examine_machine(HarnessCache(root=tmp_path / "file" / "cache"))
    }

    assert states["cache"].state is State.MISSING
    assert "CHECKREIN_CACHE" in states["cache"].advice


def test_the_doctor_names_versions_beside_the_pinned_one(tmp_path: Path) -> None:
    (tmp_path / "harnesses" / "codex" / "0.1.0").mkdir(parents=True)

    states = {finding.subject: finding for finding in examine_machine(HarnessCache(root=tmp_path))}

    assert states["codex"].detail.endswith("; also 0.1.0")


def test_an_error_is_shown_as_it_is_even_where_it_looks_like_markup() -> None:
    console = Console(width=40, record=True, file=io.StringIO())

    render_error(CheckreinError("[bold]what[/bold]", where="[/nowhere]", advice="do [this]"), console)

    assert console.export_text() == "error: [bold]what[/bold]\nwhere: [/nowhere]\nto do: do [this]\n"
