"""Real harnesses by name: the vendor's own npm package in a cache, its program run directly."""

from checkrein.adapters.provision.bundled import find_bundled
from checkrein.adapters.provision.cache import HarnessCache, default_cache
from checkrein.adapters.provision.errors import ProvisionError
from checkrein.adapters.provision.install import Phase, Progress, install_harness, locate_harness
from checkrein.adapters.provision.installed import InstalledHarness
from checkrein.adapters.provision.pins import pinned_versions
from checkrein.adapters.provision.request import HarnessRequest, parse_request
from checkrein.adapters.provision.runtime import launcher_of
from checkrein.adapters.provision.source import (
    NpmSource,
    find_source,
    known_harnesses,
    load_source,
    program_owner,
)

__all__ = [
    "HarnessCache",
    "HarnessRequest",
    "InstalledHarness",
    "NpmSource",
    "Phase",
    "Progress",
    "ProvisionError",
    "default_cache",
    "find_bundled",
    "find_source",
    "install_harness",
    "known_harnesses",
    "launcher_of",
    "load_source",
    "locate_harness",
    "parse_request",
    "pinned_versions",
    "program_owner",
]
