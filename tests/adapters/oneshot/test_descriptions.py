"""Descriptions are read strictly: what cannot work is told at once, with its place."""

from __future__ import annotations

import pytest

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.oneshot.description import read_description

GOOD = """
not_text = ["-"]
[commands]
prompt = ["run", ["--model", "{model}"], "{options}", "--", "{prompt}"]
resume = ["run", "--resume", "{session_id}", "--", "{prompt}"]
[environment]
AGENT_KEY = "{api_key}"
[conversation]
file = "{home}/*/{session_id}.jsonl"
holds = "user"
[output]
format = "json-lines"
[[output.rules]]
when = { type = ["answer", "final"] }
text = "text"
"""


def test_a_good_description_is_read() -> None:
    description = read_description(GOOD, where="here")
    assert description.commands.prompt[1] == ("--model", "{model}")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("not_text", "no_text", "unknown field `no_text`"),
        ("[output]", "[output", "at line"),
        (
            '"--", "{prompt}"]',
            '"--"]',
            "the prompt has to be there once, as {prompt} - at `$.commands.prompt`",
        ),
        ("{model}", "{colour}", "no value for colour"),
        ("{model}", "{options}", "cannot be part of a group"),
        ('"run", ["--model"', '"{conversation}", ["--model"', "no value for conversation"),
        ("{api_key}", "{prompt}", "no value for prompt"),
        ("{home}/", "{home/", "is no template"),
        ('holds = "user"', 'holds = "("', "unterminated"),
        ('not_text = ["-"]', 'not_text = ["*"]', "nothing to repeat"),
        ("json-lines", "xml", "Invalid enum value 'xml' - at `$.output.format`"),
        ("json-lines", "text", "text has no rules"),
        ('text = "text"', 'retry = "text"', "one needs `text`"),
        (
            'text = "text"',
            'text = "text"\nwhere = { kind = "x" }',
            "`each`, which is missing - at `$.output.rules[0]`",
        ),
        ('text = "text"', 'texts = "text"', "unknown field `texts` - at `$.output.rules[0]`"),
    ],
)
def test_what_cannot_work_is_named_with_its_place(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    with pytest.raises(BadRequest) as raised:
        read_description(GOOD.replace(old, new), where="oneshot.toml of a package")
    assert fault in raised.value.what
    assert raised.value.where == "oneshot.toml of a package"
    assert raised.value.advice
