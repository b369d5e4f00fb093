"""The workflow, the action and docs/ci.md call commands that exist, with options that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import typer.main
import yaml

from checkrein.conformance.cli import app

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "conformance.yml"
ACTION = ROOT / ".github" / "actions" / "checkrein" / "action.yml"
GUIDE = ROOT / "docs" / "ci.md"
FILES = (WORKFLOW, ACTION, GUIDE)

COMMAND = re.compile(r"\bcheckrein ((?:[a-z]+|\"\$\{words\[@\]\}\") [^\n`)]*)")


def scripts(path: Path) -> list[str]:
    """What a file has a shell run."""
    if path.suffix == ".md":
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
        return [*blocks, *re.findall(r"`(checkrein [a-z]+ [^`]*)`", text)]
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    jobs = document["jobs"].values() if "jobs" in document else [document["runs"]]
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def options(command: str) -> set[str]:
    """The options that a command has."""
    group = typer.main.get_command(app)
    found = cast("dict[str, object]", getattr(group, "commands", {}))
    assert command in found, f"there is no `checkrein {command}`"
    parameters = cast("list[object]", getattr(found[command], "params", []))
    return {
        name
        for parameter in parameters
        for names in (getattr(parameter, "opts", ()), getattr(parameter, "secondary_opts", ()))
        for name in cast("tuple[str, ...]", tuple(names))
    }


def calls(path: Path) -> list[list[str]]:
    """Every call of `checkrein` in a file, as words; comments and what follows a pipe are left out."""
    return [
        shlex.split(re.split(r" #| \|\|| ;;| >>|;", match[1])[0].replace("…", "x"))
        for script in scripts(path)
        for match in COMMAND.finditer(script)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_command_that_is_called_has_the_options_that_it_is_given(path: Path) -> None:
    found = calls(path)
    assert len(found) >= 4
    for command, *words in found:
        # The action hands over the words of its user: `gate …` in one place, `run …` in the other.
        known = options("gate") | options("run") if command.startswith("$") else options(command)
        given = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert given <= known, f"checkrein {command} {words}"


def test_the_workflow_and_the_action_are_yaml_with_their_parts() -> None:
    workflow, action = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in (WORKFLOW, ACTION))
    assert list(workflow["jobs"]) == ["plan", "part", "whole"]
    assert [job.get("needs") for job in workflow["jobs"].values()] == [None, "plan", "part"]
    assert action["runs"]["using"] == "composite"
    for step in action["runs"]["steps"]:
        assert ("run" in step) == ("shell" in step)


@pytest.mark.parametrize("path", [WORKFLOW, ACTION], ids=lambda path: path.name)
def test_no_input_is_pasted_into_a_shell(path: Path) -> None:
    assert scripts(path)
    for script in scripts(path):
        assert "${{" not in script


def test_the_lines_that_a_project_needs_are_twelve_at_most() -> None:
    block = re.search(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    assert len(block[1].splitlines()) <= 12
    assert list(yaml.safe_load(block[1])["jobs"]) == ["gate"]


def said_of(path: Path, schema: str) -> str:
    """What GitHub's schema, as the checker brings it along, says against a file; "" when it is well."""
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    words = ["-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{schema}", str(path)]
    done = subprocess.run(
        [sys.executable, *words], env={**os.environ, **nowhere}, capture_output=True, text=True, timeout=60
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_workflow_and_the_action_are_such_as_github_takes() -> None:
    assert said_of(WORKFLOW, "workflows") == ""
    assert said_of(ACTION, "actions") == ""


def test_the_lines_that_a_project_needs_are_such_as_github_takes(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    workflows = [block for block in blocks if "jobs" in yaml.safe_load(block)]
    assert workflows
    for number, block in enumerate(workflows):
        path = tmp_path / f"{number}.yml"
        path.write_text(block, encoding="utf-8")
        assert said_of(path, "workflows") == ""


def test_a_misspelt_key_is_not_taken(tmp_path: Path) -> None:
    for path, schema, wrong in ((WORKFLOW, "workflows", "runs_on:"), (ACTION, "actions", "uses_:")):
        broken = tmp_path / path.name
        right = wrong.replace("_", "-" if schema == "workflows" else "")
        text = path.read_text(encoding="utf-8")
        broken.write_text(re.sub(rf"(?<=[ ]){right}", wrong, text), encoding="utf-8")
        assert wrong.rstrip(":") in said_of(broken, schema)
