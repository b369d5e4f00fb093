"""`checkrein doctor --workspace`: a table or JSON, and an exit status for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.cli import app
from checkrein.conformance.commands.doctor_workspace import examine_workspace


def test_a_plain_tree_has_exit_status_0(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--workspace", str(tmp_path)])

    assert (done.exit_code, done.output) == (0, "nothing that takes effect by itself was found\n")


def test_what_is_found_is_shown_with_exit_status_1(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"bad\\u202ename": {"command": "sh"}}}')

    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["doctor", "--workspace", str(tmp_path)])

    assert done.exit_code == 1
    assert "claude-code: takes effect with an ordinary launch" in done.output
    assert ".mcp.json" in done.output
    assert "closed" in done.output
    assert "\u202e" not in done.output


def test_json_holds_every_finding(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("words")

    done = CliRunner().invoke(app, ["doctor", "--workspace", str(tmp_path), "--json"])

    document = json.loads(done.output)
    assert done.exit_code == 1
    assert document["not_known_for"] == []
    assert document["findings"] == [
        {
            "harness": "codex",
            "file": str(tmp_path.resolve() / "AGENTS.md"),
            "leads_to": None,
            "key": "",
            "line": None,
            "effect": "its text is sent to the model, also that of a file outside that a link leads to",
            "severity": "low",
            "closed": True,
        },
        {
            "harness": "pi",
            "file": str(tmp_path.resolve() / "AGENTS.md"),
            "leads_to": None,
            "key": "",
            "line": None,
            "effect": "its text is sent to the model, also where the directory is not trusted",
            "severity": "low",
            "closed": True,
        },
    ]


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no directory"):
        examine_workspace(tmp_path / "nowhere", as_json=False)
