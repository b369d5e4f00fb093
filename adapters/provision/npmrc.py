"""The environment in which npm runs: nothing of the user's own npm but how to reach the network.

npm gets its own home, cache and configuration files, so that it neither reads nor writes the user's. The registry,
its credentials, proxies and certificates still have to work where they are configured; they are read from the user's
npmrc and handed over as environment variables, so that no secret is written to the disk a second time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

#: Settings of npm that say how to reach the network; everything else of the user's npmrc has no say here.
_NETWORK_KEYS = frozenset(
    {
        "ca",
        "cafile",
        "cert",
        "fetch-retries",
        "fetch-retry-maxtimeout",
        "fetch-retry-mintimeout",
        "fetch-timeout",
        "https-proxy",
        "key",
        "local-address",
        "maxsockets",
        "noproxy",
        "proxy",
        "registry",
        "replace-registry-host",
        "strict-ssl",
    }
)

#: Node otherwise leaves `node-compile-cache` behind in the folder for temporary files.
QUIET_NODE = {"NODE_DISABLE_COMPILE_CACHE": "1"}

#: Variables, in lower case, that reach npm as they are. NODE_OPTIONS is left out: it can load code.
_PASSED_VARIABLES = frozenset(
    {
        "all_proxy",
        "http_proxy",
        "https_proxy",
        "lang",
        "lc_all",
        "no_proxy",
        "node_extra_ca_certs",
        "node_use_env_proxy",
        "node_use_system_ca",
        "ssl_cert_dir",
        "ssl_cert_file",
        "tmpdir",
        "tz",
    }
)

_VARIABLE_REFERENCE = re.compile(r"(?<!\\)\$\{([^}?]+)(\?)?\}")


def npm_environment(
    *, node_folder: Path, own_folder: Path, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The complete environment of an npm process.

    Args:
        node_folder: holds the `node` to use; comes first on PATH.
        own_folder: npm's home, cache and configuration lie below it.
        environment: the user's.
    """
    result = {name: value for name, value in environment.items() if name.lower() in _PASSED_VARIABLES}
    result |= {f"npm_config_{key}": value for key, value in user_network_settings(environment).items()}
    for name, value in environment.items():
        if name.lower().startswith("npm_config_"):
            key = name[len("npm_config_") :]
            if _is_network_key(key if key.startswith("//") else key.lower().replace("_", "-")):
                result[f"npm_config_{key if key.startswith('//') else key.lower().replace('_', '-')}"] = value
    result.setdefault("npm_config_fetch-retries", "2")
    result.setdefault("npm_config_fetch-retry-mintimeout", "1000")
    result.setdefault("npm_config_fetch-retry-maxtimeout", "10000")
    result |= {
        **QUIET_NODE,
        "PATH": f"{node_folder}{os.pathsep}{os.defpath}",
        "HOME": str(own_folder / "home"),
        "npm_config_cache": str(own_folder / "cache"),
        "npm_config_userconfig": str(own_folder / "user-npmrc"),
        "npm_config_globalconfig": str(own_folder / "global-npmrc"),
        "npm_config_prefix": str(own_folder / "prefix"),
        "npm_config_ignore_scripts": "true",
        "npm_config_audit": "false",
        "npm_config_fund": "false",
        "npm_config_update_notifier": "false",
        "npm_config_logs_max": "0",
        "npm_config_loglevel": "error",
        "npm_config_color": "false",
        "npm_config_progress": "false",
    }
    return result


def user_network_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings of the user's npmrc that say how to reach the network, by npm's key.

    The file is read only; none is the same as an empty one. References such as `${TOKEN}` are filled in from the
    environment, as npm does; one without a value stays as it is, and `${TOKEN?}` becomes empty.
    """
    path = _user_npmrc(environment)
    try:
        text = path.read_text(encoding="utf-8") if path else ""
    except (OSError, UnicodeDecodeError):
        return {}
    settings: dict[str, str] = {}
    for line in text.splitlines():
        stripped = line.strip()
        key, equals, value = (part.strip() for part in stripped.partition("="))
        if not equals or stripped[0] in ";#[" or not _is_network_key(key):
            continue
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        settings[key] = _fill_in(value, environment)
    return settings


def _is_network_key(key: str) -> bool:
    # `//host/:_authToken` and its like, `@scope:registry`, and the plain ones.
    return key.startswith("//") or (key.startswith("@") and key.endswith(":registry")) or key in _NETWORK_KEYS


def _user_npmrc(environment: Mapping[str, str]) -> Path | None:
    for name, value in environment.items():
        if name.lower() == "npm_config_userconfig" and value:
            return Path(value)
    home = environment.get("HOME")
    return Path(home) / ".npmrc" if home else None


def _fill_in(value: str, environment: Mapping[str, str]) -> str:
    def replacement(match: re.Match[str]) -> str:
        name, optional = match.group(1), match.group(2)
        return environment.get(name, "" if optional else match.group(0))

    return _VARIABLE_REFERENCE.sub(replacement, value)
