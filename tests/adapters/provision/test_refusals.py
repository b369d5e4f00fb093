"""Each way in which an installation can fail has its own error, and leaves no half entry behind."""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from checkrein.adapters.errors import BadRequest, UnknownHarness
from checkrein.adapters.provision import (
    HarnessCache,
    NpmSource,
    install_harness,
    known_harnesses,
    locate_harness,
)
from checkrein.adapters.provision.errors import (
    BadInstallTable,
    BinaryMissing,
    CacheNotWritable,
    CorruptEntry,
    DiskFull,
    InstallBusy,
    NoNetwork,
    NoSuchVersion,
    NotInstalled,
    NpmFailed,
    NpmTooSlow,
    UnsupportedPlatform,
)
from checkrein.adapters.provision.npm import Node

MakeNode = Callable[[str], Node]


def npm_error(code: str, summary: str) -> str:
    """Shell lines that answer as npm 11.17 does when it fails under `--json`."""
    return f"""echo '{{"error": {{"code": "{code}", "summary": "{summary}", "detail": ""}}}}'; exit 1"""


def test_an_unknown_harness_is_refused_with_the_names_of_the_known_ones(cache: HarnessCache) -> None:
    with pytest.raises(UnknownHarness) as caught:
        install_harness("nosuch", cache=cache)

    assert caught.value.advice == f"the known ones are {', '.join(known_harnesses())}"
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    "text",
    ["", "@1.0", "codex@", "codex@../../etc", "codex@.hidden", "Codex", "co dex", "codex@1 2", "codex@1/2"],
)
def test_what_is_no_harness_is_refused_before_anything_runs(text: str, cache: HarnessCache) -> None:
    with pytest.raises(BadRequest):
        install_harness(text, cache=cache)

    assert not cache.root.exists()


def test_a_version_that_does_not_exist_is_refused_with_the_newest_ones(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    with pytest.raises(NoSuchVersion) as caught:
        install_harness("small@7.0.99", cache=cache, source=small_source)

    assert caught.value.newest == ("3.0.0", "4.0.0", "5.0.0", "6.0.0", "7.0.0")
    assert cache.versions("small") == ()


def test_a_tag_that_does_not_exist_is_refused_with_those_that_do(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    with pytest.raises(NoSuchVersion) as caught:
        install_harness("small@nightly", cache=cache, source=small_source)

    assert caught.value.newest == ("latest",)


def test_a_package_for_another_platform_is_refused(cache: HarnessCache, small_source: NpmSource) -> None:
    elsewhere = dataclasses.replace(small_source, platforms={"plan9-x64": {}})

    with pytest.raises(UnsupportedPlatform) as caught:
        install_harness("small", cache=cache, source=elsewhere)

    assert caught.value.advice == "run it on one of plan9-x64"


def test_a_version_without_a_build_for_this_platform_is_told_apart_from_one_that_does_not_exist(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    unbuilt = dataclasses.replace(small_source, version="{version}-linux-x64")

    with pytest.raises(UnsupportedPlatform) as caught:
        install_harness("small@7.0.0", cache=cache, source=unbuilt)

    assert caught.value.harness == "small 7.0.0"


def test_a_registry_that_cannot_be_reached_is_named(
    cache: HarnessCache, small_source: NpmSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")

    with pytest.raises(NoNetwork) as caught:
        install_harness("small", cache=cache, source=small_source)

    assert caught.value.code == "ECONNREFUSED"
    assert "127.0.0.1:9" in caught.value.where
    assert caught.value.exit_status == 3


def test_a_disk_that_npm_finds_full_is_told_with_the_cache(
    cache: HarnessCache, small_source: NpmSource, npm_that_says: MakeNode
) -> None:
    node = npm_that_says(npm_error("ENOSPC", "ENOSPC: no space left on device, write"))

    with pytest.raises(DiskFull) as caught:
        install_harness("small", cache=cache, source=small_source, node=node)

    assert caught.value.where == str(cache.root)
    assert cache.versions("small") == ()
    assert list((cache.root / "partial").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EROFS, CacheNotWritable)],
)
def test_what_the_file_system_refuses_to_us_is_told_by_its_kind(
    number: int, expected: type[Exception], cache: HarnessCache
) -> None:
    with pytest.raises(expected), cache.writing():
        raise OSError(number, "refused")


def test_a_cache_below_a_file_is_told_as_not_writable(tmp_path: Path, small_source: NpmSource) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(CacheNotWritable):
        install_harness("small", cache=HarnessCache(root=tmp_path / "file" / "cache"), source=small_source)


def test_npms_own_words_are_kept_when_the_failure_has_no_class(
    cache: HarnessCache, small_source: NpmSource, npm_that_says: MakeNode
) -> None:
    node = npm_that_says("echo 'npm error something odd' >&2; exit 7")

    with pytest.raises(NpmFailed) as caught:
        install_harness("small", cache=cache, source=small_source, node=node)

    assert caught.value.code == "exit status 7"
    assert "something odd" in caught.value.where


def test_an_npm_that_hangs_is_ended_at_the_deadline(
    cache: HarnessCache, small_source: NpmSource, npm_that_says: MakeNode
) -> None:
    with pytest.raises(NpmTooSlow):
        install_harness(
            "small",
            cache=cache,
            source=small_source,
            node=npm_that_says("exec sleep 60"),
            deadline_seconds=0.6,
        )


def test_a_lock_that_another_process_keeps_is_given_up_at_the_deadline(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    lock = cache.root / "locks" / "small@7.0.0.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(InstallBusy) as caught:
            install_harness("small@7.0.0", cache=cache, source=small_source, deadline_seconds=0.5)

    assert caught.value.where == str(lock)


def test_a_lock_file_whose_holder_is_gone_is_no_hindrance(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    lock = cache.root / "locks" / "small@7.0.0.lock"
    lock.parent.mkdir(parents=True)
    lock.write_text("left behind")

    assert install_harness("small@7.0.0", cache=cache, source=small_source).version == "7.0.0"


def test_a_package_without_the_binary_is_told_with_the_place(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    moved = dataclasses.replace(small_source, binary="bin/small")

    with pytest.raises(BinaryMissing) as caught:
        install_harness("small", cache=cache, source=moved)

    assert caught.value.what == "the package is-number@7.0.0 holds no bin/small"
    assert cache.versions("small") == ()


def test_a_placeholder_without_a_value_is_named(small_source: NpmSource) -> None:
    broken = dataclasses.replace(small_source, binary="{triple}/small")

    with pytest.raises(BadInstallTable, match="triple"):
        broken.package_for("7.0.0", next(iter(small_source.platforms)))


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_a_deadline_that_is_no_number_of_seconds_is_refused(
    text: str, cache: HarnessCache, small_source: NpmSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHECKREIN_INSTALL_SECONDS", text)

    with pytest.raises(BadRequest) as caught:
        install_harness("small", cache=cache, source=small_source)

    assert caught.value.where == "CHECKREIN_INSTALL_SECONDS"


def test_a_harness_that_is_not_installed_is_refused_with_the_command_that_installs_it(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    with pytest.raises(NotInstalled) as caught:
        locate_harness("small@7.0.0", cache=cache, source=small_source)

    assert caught.value.advice == "run: checkrein install small@7.0.0"


def test_a_tag_is_not_looked_up_without_npm(cache: HarnessCache, small_source: NpmSource) -> None:
    with pytest.raises(BadRequest):
        locate_harness("small@latest", cache=cache, source=small_source)


class TestADamagedEntryIsRefused:
    """An entry is refused when it is not what was installed, however it came to that."""

    @pytest.fixture
    def binary(self, cache: HarnessCache, small_source: NpmSource) -> Path:
        return install_harness("small", cache=cache, source=small_source).binary

    def refuse(self, cache: HarnessCache, source: NpmSource) -> CorruptEntry:
        with pytest.raises(CorruptEntry) as caught:
            locate_harness("small", cache=cache, source=source)
        return caught.value

    def test_when_the_binary_has_another_content(
        self, cache: HarnessCache, small_source: NpmSource, binary: Path
    ) -> None:
        binary.write_bytes(binary.read_bytes() + b"\n")
        assert "sha256" in self.refuse(cache, small_source).what

    def test_when_the_binary_is_gone(
        self, cache: HarnessCache, small_source: NpmSource, binary: Path
    ) -> None:
        binary.unlink()
        assert self.refuse(cache, small_source).where == str(binary)

    def test_when_the_binary_may_not_be_run(
        self, cache: HarnessCache, small_source: NpmSource, binary: Path
    ) -> None:
        binary.chmod(0o644)
        assert "not executable" in self.refuse(cache, small_source).what

    @pytest.mark.usefixtures("binary")
    def test_when_the_record_is_gone(self, cache: HarnessCache, small_source: NpmSource) -> None:
        (cache.entry("small", "7.0.0") / "installed.json").unlink()
        assert "No such file" in self.refuse(cache, small_source).what

    @pytest.mark.usefixtures("binary")
    def test_when_the_record_cannot_be_read(self, cache: HarnessCache, small_source: NpmSource) -> None:
        (cache.entry("small", "7.0.0") / "installed.json").write_text('{"harness": "small"')
        assert self.refuse(cache, small_source).where.endswith("installed.json")

    @pytest.mark.usefixtures("binary")
    def test_when_the_record_is_that_of_another_version(
        self, cache: HarnessCache, small_source: NpmSource
    ) -> None:
        cache.entry("small", "7.0.0").rename(cache.entry("small", "7.0.1"))
        with pytest.raises(CorruptEntry, match="record of small 7\\.0\\.0"):
            locate_harness("small@7.0.1", cache=cache, source=small_source)


def test_a_binary_whose_time_alone_has_changed_is_still_the_same(
    cache: HarnessCache, small_source: NpmSource
) -> None:
    installed = install_harness("small", cache=cache, source=small_source)
    os.utime(installed.binary, (1, 1))

    assert locate_harness("small", cache=cache, source=small_source) == installed
