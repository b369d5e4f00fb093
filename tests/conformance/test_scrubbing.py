"""Keys, tokens, home folders and the user's name stay on the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.scrubbing import Scrubber, scrubber_of_this_machine

SCRUBBER = Scrubber(home=Path("/srv/people/jane"), user="jane")

SECRETS = {
    f"Authorization: Bearer {DUMMY_KEY}": "Authorization: Bearer [key]",
    f"the key {DUMMY_KEY}, again {DUMMY_KEY}.": "the key [key], again [key].",
    '{"x-api-key":"sk-ant-api03-AbCdEfGh_1234567890"}': '{"x-api-key":"[key]"}',
    "OPENAI_API_KEY=abcdef123456 make": "OPENAI_API_KEY=[key] make",
    '{\\"password\\": \\"correct horse\\"}': '{\\"password\\": \\"[key] horse\\"}',
    "git clone https://jane:hunter22@forge.example/x.git": "git clone https://[key]@forge.example/x.git",
    "ghp_0123456789abcdefghijABCDEFGHIJ": "[key]",
    "AKIAIOSFODNN7EXAMPLE": "[key]",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl": "[key]",
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nrest": "[key]\nrest",
}
HOMES = {
    "/srv/people/jane/project": "~/project",
    "file:///srv/people/jane": "file://~",
    '"cwd":"/home/somebody/work"': '"cwd":"~/work"',
    "/Users/Some.One/Library": "~/Library",
    "in /root/.cache": "in ~/.cache",
    "/tmp/pytest-of-jane/1": "/tmp/pytest-of-[user]/1",
    "jane said": "[user] said",
}
UNTOUCHED = [
    "/tmp/run/home/.codex/sessions",
    "/tmp/root/x",
    "/rooted",
    "/srv/people/janet",
    "3 tokens, 12 output tokens",
    '{"tokenUsage":{"total":20}}',
    "the api key is asked for",
    "task-first-and-second",
    "janeiro",
]


@pytest.mark.parametrize(("text", "scrubbed"), [*SECRETS.items(), *HOMES.items()])
def test_what_must_not_leave_the_machine_is_taken_out(text: str, scrubbed: str) -> None:
    assert SCRUBBER.text(text) == scrubbed


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert SCRUBBER.text(text) == text


@pytest.mark.parametrize("text", [*SECRETS, *HOMES])
def test_a_second_time_changes_nothing(text: str) -> None:
    once = SCRUBBER.text(text)
    assert SCRUBBER.text(once) == once


def test_json_is_scrubbed_in_depth_and_keeps_its_shape() -> None:
    value = {"a": [1, 2.5, None, True, {"/home/x/y": "in /home/x/y"}], "api_key": "short", "n": "api_key"}
    assert SCRUBBER.json(value) == {
        "a": [1, 2.5, None, True, {"~/y": "in ~/y"}],
        "api_key": "[key]",
        "n": "api_key",
    }


def test_a_name_that_is_an_ordinary_word_stays() -> None:
    assert Scrubber(home=None, user="test").text("a test of codex") == "a test of codex"
    assert Scrubber(home=None, user="").text("a test") == "a test"


def test_a_home_at_the_root_of_the_file_system_takes_nothing_away() -> None:
    assert Scrubber(home=Path("/"), user="").text("/usr/bin/git and a/b") == "/usr/bin/git and a/b"


def test_this_machine_has_a_scrubber(monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(Path.home())
    assert scrubber_of_this_machine().text(f"{home}/x") == "~/x"
