"""Where npm has a harness, as data: one `install.toml` per adapter folder.

The file holds the four patterns of `NpmSource` and a table `[platforms]`: for each platform (the words of
`platforms.platform_name`) the values of the placeholders. `{version}` is always there. A harness of JavaScript names
the oldest `node` that runs it. An adapter of a program that another adapter brings says `same_as` instead, with the
name of that one; cache and pin are then the other's too. An outside adapter package brings its own `install.toml`, and
may name its `default_version` in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.resources import files

import msgspec

from checkrein.adapters.errors import UnknownHarness
from checkrein.adapters.provision.errors import BadInstallTable, UnsupportedPlatform

#: Each entry point of this group is one adapter; its module's package holds the `install.toml`.
ENTRY_POINT_GROUP = "checkrein.adapters"


class _SameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    same_as: str


class _InstallFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    versions_of: str
    package: str
    version: str
    binary: str
    platforms: dict[str, dict[str, str]]
    default_version: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """One package for one platform.

    Args:
        name: its npm name, such as `@openai/codex`.
        version: its npm version, such as `0.171.0-linux-x64`.
        binary: path of the program inside the package: a native executable, or JavaScript.
    """

    name: str
    version: str
    binary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmSource:
    """Where npm has a harness.

    Args:
        harness: name of the harness.
        versions_of: the npm package whose versions and tags are those of the harness.
        package: pattern of the npm name of the platform's package.
        version: pattern of its npm version.
        binary: pattern of the program's path inside the package.
        platforms: for each supported platform, the values of the placeholders in the patterns.
        default_version: the version to install when none is named; None leaves it to the pins.
        node: the oldest version of Node that runs the program; None for a native executable.
    """

    harness: str
    versions_of: str
    package: str
    version: str
    binary: str
    platforms: Mapping[str, Mapping[str, str]]
    default_version: str | None = None
    node: str | None = None

    def package_for(self, version: str, platform: str) -> NpmPackage:
        """The package of one version for one platform.

        Raises:
            UnsupportedPlatform: the table has no such platform.
            BadInstallTable: a pattern has a placeholder without a value.
        """
        if platform not in self.platforms:
            raise UnsupportedPlatform(
                harness=self.harness, platform=platform, supported=sorted(self.platforms)
            )
        values = {**self.platforms[platform], "version": version}
        try:
            return NpmPackage(
                name=self.package.format_map(values),
                version=self.version.format_map(values),
                binary=self.binary.format_map(values),
            )
        except (KeyError, ValueError, IndexError) as fault:
            raise BadInstallTable(
                f"a pattern of the install table cannot be filled in: {fault}",
                where=f"{self.harness}, platform {platform}",
                advice="give each placeholder a value in [platforms]",
            ) from None


def load_source(harness: str, package: str, *, may_be_same: bool = True) -> NpmSource:
    """Read `install.toml` of an adapter package.

    Args:
        harness: name of the harness.
        package: import name of the package that holds the file.
        may_be_same: it may say that the program is another harness's.

    Returns:
        With `same_as`, the table of the other harness, its name included.

    Raises:
        BadInstallTable: the file is missing, or does not hold what an install table holds; names file and field.
        UnknownHarness: no adapter has the name in `same_as`.
    """
    source = files(package).joinpath("install.toml")
    try:
        table = tomllib.loads(source.read_text(encoding="utf-8"))
        if "same_as" in table:
            other = msgspec.convert(table, _SameFile).same_as
            if not may_be_same:
                raise BadInstallTable(
                    f"{harness} is named as the same as another harness, and is the same as {other} itself",
                    where=str(source),
                    advice=f"name {other} in the other install.toml",
                )
            return find_source(other, may_be_same=False)
        data = msgspec.convert(table, _InstallFile)
    except FileNotFoundError:
        raise BadInstallTable(
            f"the adapter of {harness} does not say where npm has it",
            where=str(source),
            advice="add an install.toml, or give the path of the binary",
        ) from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as fault:
        raise BadInstallTable(
            f"the install table cannot be used: {fault}", where=str(source), advice="correct that field"
        ) from fault
    return NpmSource(
        harness=harness,
        versions_of=data.versions_of,
        package=data.package,
        version=data.version,
        binary=data.binary,
        platforms=data.platforms,
        default_version=data.default_version,
        node=data.node,
    )


def known_harnesses() -> tuple[str, ...]:
    """Names of the harnesses that an installed adapter exists for, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}))


def program_owner(harness: str) -> str:
    """The harness whose program it is that a harness runs: itself, or the one that its install table names.

    Raises:
        UnknownHarness: no adapter has that name.
    """
    try:
        return find_source(harness).harness
    except BadInstallTable:
        return harness  # a program that is given by its path needs no table


def find_source(harness: str, *, may_be_same: bool = True) -> NpmSource:
    """The install table of a harness by its name.

    Args:
        may_be_same: see `load_source`.

    Raises:
        UnknownHarness: no adapter has that name; names those that exist.
        BadInstallTable: the adapter's `install.toml` cannot be used.
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == harness:
            return load_source(harness, entry.module, may_be_same=may_be_same)
    raise UnknownHarness(
        f"there is no harness {harness!r}", advice=f"the known ones are {', '.join(known_harnesses())}"
    )
