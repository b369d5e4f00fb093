"""npm runs with nothing of the user's own npm but the way to the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters.provision.errors import NpmFailed
from checkrein.adapters.provision.npm import find_node, published_versions
from checkrein.adapters.provision.npmrc import npm_environment, user_network_settings

NODE_FOLDER = Path("/kit/node/bin")
OWN_FOLDER = Path("/kit/own")


def environment_for(variables: dict[str, str]) -> dict[str, str]:
    return npm_environment(node_folder=NODE_FOLDER, own_folder=OWN_FOLDER, environment=variables)


@pytest.mark.parametrize(
    "name",
    ["HTTPS_PROXY", "https_proxy", "NO_PROXY", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "npm_config_registry"],
)
def test_the_way_to_the_network_is_passed_on(name: str) -> None:
    assert environment_for({name: "value"})[name] == "value"


def test_npms_settings_are_found_in_any_spelling() -> None:
    assert (
        environment_for({"NPM_CONFIG_HTTPS_PROXY": "http://proxy"})["npm_config_https-proxy"]
        == "http://proxy"
    )


@pytest.mark.parametrize(
    "name",
    ["NODE_OPTIONS", "NODE_PATH", "npm_config_prefix_", "npm_config_script_shell", "ANTHROPIC_API_KEY"],
)
def test_everything_else_of_the_user_stays_out(name: str) -> None:
    assert name not in environment_for({name: "value"})


def test_home_cache_and_configuration_are_npms_own() -> None:
    made = environment_for({"HOME": "/home/user", "npm_config_cache": "/home/user/.npm", "PATH": "/usr/bin"})

    assert {
        made[name]
        for name in ("HOME", "npm_config_cache", "npm_config_userconfig", "npm_config_globalconfig")
    } == {
        "/kit/own/home",
        "/kit/own/cache",
        "/kit/own/user-npmrc",
        "/kit/own/global-npmrc",
    }
    assert made["PATH"].startswith("/kit/node/bin:")
    assert made["npm_config_ignore_scripts"] == "true"


def test_asking_npm_leaves_nothing_among_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with pytest.raises(NpmFailed):
        published_versions(find_node(), "../not a name", work=tmp_path)

    assert list(temporary.iterdir()) == []


def test_the_network_settings_of_the_users_npmrc_become_variables(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text(
        "\n".join(
            [
                "; a comment = not a setting",
                "# registry=http://commented.example",
                'registry = "https://mirror.example/npm"',
                "@anthropic-ai:registry=https://scoped.example",
                "//mirror.example/npm/:_authToken=${MIRROR_TOKEN}",
                "//other.example/:_authToken=${NOT_SET}",
                "cafile=/etc/ca.pem",
                "cache=/home/user/.npm",
                "ignore-scripts=false",
                "[section]",
            ]
        )
    )

    assert user_network_settings({"HOME": str(tmp_path), "MIRROR_TOKEN": "secret"}) == {
        "registry": "https://mirror.example/npm",
        "@anthropic-ai:registry": "https://scoped.example",
        "//mirror.example/npm/:_authToken": "secret",
        "//other.example/:_authToken": "${NOT_SET}",
        "cafile": "/etc/ca.pem",
    }


def test_a_variable_wins_over_the_npmrc(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=https://from-npmrc.example\n")

    made = environment_for({"HOME": str(tmp_path), "NPM_CONFIG_REGISTRY": "https://from-variable.example"})

    assert made["npm_config_registry"] == "https://from-variable.example"
    assert [name for name in made if name.lower() == "npm_config_registry"] == ["npm_config_registry"]


def test_the_npmrc_that_a_variable_names_is_read_instead_of_the_one_at_home(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=https://home.example\n")
    (tmp_path / "other").write_text("registry=https://other.example\n")

    settings = user_network_settings(
        {"HOME": str(tmp_path), "NPM_CONFIG_USERCONFIG": str(tmp_path / "other")}
    )

    assert settings == {"registry": "https://other.example"}


def test_no_npmrc_is_the_same_as_an_empty_one(tmp_path: Path) -> None:
    assert user_network_settings({"HOME": str(tmp_path)}) == {}
    assert user_network_settings({}) == {}
