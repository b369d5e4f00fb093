"""What a workspace says to the model: nothing by itself, and its one file for agents when that is asked for."""

from __future__ import annotations

import json
from pathlib import Path

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.hostile.attacks import attacks_on
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.hostile_sessions import HostileRun, achieved, layouts
from checkrein.conformance.scenarios.moves import PATIENCE, run, times_anywhere
from checkrein.scripted_models import say

CLAUSE = "workspace.memory-is-explicit"

#: Every name that a harness is known to look for, so that one that reads another's file is seen, too.
NAMES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")

WANTED, NESTED, IMPORTED, OUTSIDE = "mark-of-the-memory", "mark-nested", "mark-imported", "mark-outside"


@scenario(CLAUSE)
async def test_project_memory_is_explicit(arena: Arena) -> None:
    own = [name for name in arena.target.manifest.memory_files if name in NAMES]
    arena.require(own, "the adapter names the files that are the project's memory")
    attacks = attacks_on(arena.target.harness, CLAUSE)
    hostile = HostileRun(arena, layouts(attacks))
    for answer in ("Without.", "With.", "Again."):
        arena.script.main([say(answer)])
    _furnish(arena, own[0])

    spoken = achieved(await hostile.run())
    async with arena.session() as session:
        await run(arena, session, "what do you know?")
    marks = (WANTED, NESTED, IMPORTED, OUTSIDE)
    unasked = [mark for mark in marks if times_anywhere(arena, mark)]
    async with arena.session(project_memory=True) as session:
        await run(arena, session, "what do you know?")
        session_id = session.id
    told = [_times_in_newest(arena, WANTED)]
    async with arena.session(project_memory=True, resume=session_id) as session:
        await run(arena, session, "and now?")
    told.append(_times_in_newest(arena, WANTED))
    others = [mark for mark in (NESTED, IMPORTED, OUTSIDE) if times_anywhere(arena, mark)]
    refused = await _refusal(arena, own[0])
    arena.judge(
        CLAUSE,
        holds=not spoken and not unasked and told == [1, 1] and not others and OUTSIDE not in refused,
        expected="without the option no word of it; with it the file's own text once, also after resuming; "
        "never what it imports, what lies below or outside",
        observed=f"attacks: {spoken or 'nothing'}; without: {unasked or 'nothing'}; with, and resumed: {told}, "
        f"others: {others or 'none'}; a link to outside: {refused}",
        enforced_by="adapter",
    )


def _times_in_newest(arena: Arena, mark: str) -> int:
    """How often the newest request of the conversation holds a mark, instructions included."""
    return json.dumps(arena.model.main_requests[-1].body).count(mark)


def _furnish(arena: Arena, name: str) -> None:
    """The harness's own file, and everything near it that must not come along."""
    (arena.outside / "imported.md").write_text(f"{IMPORTED}\n")
    (arena.outside / "linked.md").write_text(f"{OUTSIDE}\n")
    for each in NAMES:
        if each != name:
            (arena.workspace / each).symlink_to(arena.outside / "linked.md")
    (arena.workspace / name).write_text(
        f"{WANTED}\n\n@{arena.outside / 'imported.md'}\n@{_above(arena)}/imported.md\n"
    )
    for folder in (arena.workspace / "docs", arena.workspace.parent):
        folder.mkdir(exist_ok=True)
        for each in NAMES:
            (folder / each).write_text(f"{NESTED}\n")


def _above(arena: Arena) -> Path:
    return Path("..") / arena.outside.relative_to(arena.workspace.parent)


async def _refusal(arena: Arena, name: str) -> str:
    """What a session says when the file leads out of the workspace."""
    (arena.workspace / name).unlink()
    (arena.workspace / name).symlink_to(arena.outside / "linked.md")
    requests = len(arena.model.requests)
    try:
        async with arena.session(project_memory=True):
            said = f"{OUTSIDE} is taken"
    except BadRequest as error:
        said = error.what
    await arena.model.quiet_for(0.1, timeout=PATIENCE)
    return said if len(arena.model.requests) == requests else f"{OUTSIDE} is sent"
