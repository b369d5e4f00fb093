"""Where npm has each harness, for each platform, and which version is meant."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from checkrein.adapters.provision import (
    InstalledHarness,
    NpmSource,
    default_cache,
    find_source,
    known_harnesses,
    load_source,
    pinned_versions,
    program_owner,
)
from checkrein.adapters.provision.errors import BadInstallTable
from checkrein.adapters.provision.pins import default_version
from checkrein.adapters.provision.platforms import platform_name


def test_the_pinned_versions_are_the_ones_that_were_tested() -> None:
    assert pinned_versions() == {"claude-code": "2.1.332", "codex": "0.171.0", "pi": "1.6.0"}


def test_the_pins_are_the_only_place_that_names_those_versions() -> None:
    for harness, folder in (("claude-code", "claude_code"), ("codex", "codex"), ("pi", "pi")):
        text = files(f"checkrein.adapters.{folder}").joinpath("install.toml").read_text()
        settings = [line for line in text.splitlines() if not line.startswith("#")]
        assert pinned_versions()[harness] not in "\n".join(settings)


@pytest.mark.parametrize(
    ("harness", "platform", "package", "version", "binary"),
    [
        ("claude-code", "linux-x64-glibc", "@anthropic-ai/claude-code-linux-x64", "2.1.332", "claude"),
        (
            "claude-code",
            "linux-arm64-musl",
            "@anthropic-ai/claude-code-linux-arm64-musl",
            "2.1.332",
            "claude",
        ),
        ("claude-code", "darwin-arm64", "@anthropic-ai/claude-code-darwin-arm64", "2.1.332", "claude"),
        (
            "codex",
            "linux-x64-musl",
            "@openai/codex",
            "0.171.0-linux-x64",
            "vendor/x86_64-unknown-linux-musl/bin/codex",
        ),
        (
            "codex",
            "darwin-arm64",
            "@openai/codex",
            "0.171.0-darwin-arm64",
            "vendor/aarch64-apple-darwin/bin/codex",
        ),
    ],
)
def test_the_platforms_own_package_is_named(
    harness: str, platform: str, package: str, version: str, binary: str
) -> None:
    found = find_source(harness).package_for(pinned_versions()[harness], platform)

    assert (found.name, found.version, found.binary) == (package, version, binary)


def test_the_harnesses_that_have_an_adapter_are_known() -> None:
    assert known_harnesses() == (
        "claude-code",
        "claude-code-print",
        "codex",
        "codex-exec",
        "pi",
        "pi-print",
        "reference",
    )


def test_a_harness_may_run_the_program_of_another_with_its_place_and_pin() -> None:
    assert find_source("codex-exec") == find_source("codex")
    assert [program_owner(harness) for harness in ("pi-print", "pi")] == ["pi", "pi"]


def test_a_harness_that_is_the_same_as_another_cannot_be_named_by_a_third() -> None:
    with pytest.raises(BadInstallTable, match="name codex in the other"):
        load_source("codex-exec", "checkrein.adapters.codex.exec_mode", may_be_same=False)


@pytest.mark.parametrize(
    ("system", "machine", "libc", "expected"),
    [
        ("linux", "x86_64", "glibc", "linux-x64-glibc"),
        ("linux", "aarch64", "musl", "linux-arm64-musl"),
        ("darwin", "arm64", None, "darwin-arm64"),
        ("linux", "riscv64", "glibc", "linux-riscv64-glibc"),
    ],
)
def test_a_platform_is_named_in_npms_words(
    system: str, machine: str, libc: str | None, expected: str
) -> None:
    assert platform_name(system=system, machine=machine, libc=libc) == expected


class TestAnOutsideAdapter:
    """An adapter that is not part of the kit brings its own table."""

    @pytest.fixture
    def package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        # A name of its own in each test: an imported package stays known for the life of the process.
        folder = tmp_path / f"outside_{tmp_path.name}"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        return folder

    def load(self, package: Path, text: str) -> NpmSource:
        (package / "install.toml").write_text(text)
        return load_source("outside", package.name)

    def test_may_name_its_own_default_version(self, package: Path) -> None:
        table = (
            'versions_of="x"\npackage="x"\nversion="{version}"\nbinary="b"\n[platforms]\nlinux-x64-glibc={}\n'
        )
        assert default_version(self.load(package, f'default_version = "3.2.1"\n{table}')) == "3.2.1"
        assert default_version(self.load(package, table)) == "latest"

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            ("package = 3", "package"),
            ("versions_of = \n", "line 1"),
            ('colour = "red"', "colour"),
            ("", "versions_of"),
        ],
    )
    def test_is_told_which_field_is_wrong(self, text: str, named: str, package: Path) -> None:
        with pytest.raises(BadInstallTable) as caught:
            self.load(package, text)
        assert named in caught.value.what
        assert caught.value.where.endswith("install.toml")

    def test_is_told_when_it_has_none(self, package: Path) -> None:
        with pytest.raises(BadInstallTable, match="does not say where npm has it"):
            load_source("outside", package.name)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CHECKREIN_CACHE": "/big/disk"}, Path("/big/disk")),
        ({"XDG_CACHE_HOME": "/xdg"}, Path("/xdg/checkrein")),
        ({"XDG_CACHE_HOME": "relative"}, Path.home() / ".cache/checkrein"),
        ({}, Path.home() / ".cache/checkrein"),
    ],
)
def test_the_cache_is_where_the_environment_says(environment: dict[str, str], expected: Path) -> None:
    assert default_cache(environment).root == expected


def test_the_real_binaries_run_and_say_the_pinned_versions(
    real_claude_code: InstalledHarness, real_codex: InstalledHarness, tmp_path: Path
) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.defpath, "DISABLE_AUTOUPDATER": "1"}
    for installed in (real_claude_code, real_codex):
        said = subprocess.run(
            [installed.binary, "--version"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert pinned_versions()[installed.harness] in said.stdout
        assert installed.version == pinned_versions()[installed.harness]
        assert installed.integrity.startswith("sha512-")
