"""Sessions: known before they start, continued and branched without loss, closed without a trace."""

from __future__ import annotations

import hashlib
import shlex
import sys
from fnmatch import fnmatch
from pathlib import Path

import psutil

from checkrein.adapters import Session
from checkrein.adapters.errors import PolicyNotEffective
from checkrein.adapters.manifest import Capability
from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.file_tree import files_below
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import PATIENCE, finish, run
from checkrein.conformance.scenarios.widened import Widened
from checkrein.scripted_models import say, shell
from checkrein.scripted_models.requests import redact

#: What a surrounding agent leaves in the environment of its children, and baits for the harness's model access.
POLLUTION = {
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "bait-entrypoint",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9/bait",
    "ANTHROPIC_AUTH_TOKEN": "bait-token",
    "CODEX_SANDBOX": "bait-sandbox",
    "CODEX_THREAD_ID": "bait-thread",
    "OPENAI_API_KEY": "bait-key",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/bait",
    "AI_AGENT": "bait-agent",
}

#: Variables that point harnesses at the user's configuration, and where below the user's home.
USER_PLACES = {
    "HOME": "",
    "CLAUDE_CONFIG_DIR": ".claude",
    "CODEX_HOME": ".codex",
    "XDG_CONFIG_HOME": ".config",
}

#: In front of a command: what setsid(1) does, which not every system has.
IN_A_SESSION_OF_ITS_OWN = (
    f"{shlex.quote(sys.executable)} -I -S -c"
    " 'import os, sys; os.setsid(); os.execv(sys.argv[1], sys.argv[1:])'"
)


@scenario("session.start.version-recorded")
async def test_which_harness_this_is(arena: Arena) -> None:
    async with arena.session(policy="auto") as session:
        known = session.harness
        requests = len(arena.model.main_requests)
        actual = _digest(arena.target.path)
        wanted = arena.target.known_version or known.version
        stated = [row for row in arena.wire.received() if known.version and known.version in row.text]
        # Before its prompt nothing of a one-shot program runs: there its package says it, by the digest.
        speaks = not arena.target.manifest.lacks(Capability.LIVE_CONTROL)
        arena.judge(
            "session.start.version-recorded",
            holds=(known.name, known.version, known.sha256) == (arena.target.harness, wanted, actual)
            and bool(stated) is speaks,
            expected=f"{arena.target.harness} {wanted}, as the {'process' if speaks else 'package'} says, "
            f"sha256 {actual}, before any prompt",
            observed=f"{known.name} {known.version}, {'as the process says' if stated else 'which no line says'}, "
            f"sha256 {known.sha256}, after {requests} request(s)",
            enforced_by="adapter",
        )


@scenario("session.start.policy-effective")
async def test_the_policy_that_holds_is_the_one_asked_for(arena: Arena) -> None:
    async with arena.session(policy="ask") as session:
        asked, effective = dict(session.opened.policy_asked), dict(session.opened.policy_effective)
    requests = len(arena.model.requests)
    widened = Widened(arena.target.adapter, arena.known("widening", arena.target.kit.widening))
    refused = "not refused"
    try:
        async with arena.session(policy="ask", adapter=widened):
            pass
    except PolicyNotEffective as error:
        refused = error.where
    arena.require(widened.applied, "the launch of the harness has the words that are widened on purpose")
    after = len(arena.model.requests) - requests
    arena.judge(
        "session.start.policy-effective",
        holds=asked == effective and bool(asked) and refused != "not refused" and after == 0,
        expected="what the harness says equals what was asked; widened on purpose, it is refused before any request",
        observed=f"says {effective}; widened: {refused}, {after} request(s)",
        enforced_by="adapter",
    )


@scenario("session.close.nothing-left")
async def test_closing_while_tools_run(arena: Arena) -> None:
    build = arena.script.held_tool("build", ignore_signals=True)
    detached = arena.script.held_tool("detached", ignore_signals=True)
    arena.script.main(
        [
            shell(
                f"{IN_A_SESSION_OF_ITS_OWN} {detached.command} >/dev/null 2>&1 & {build.command}",
                id="call_build",
            )
        ]
    )
    async with arena.session(policy="auto") as session:
        await session.start("build it")
        await build.started(timeout=PATIENCE)
        await detached.started(timeout=PATIENCE)
        pids = {process.pid for process in arena.processes()}
        arena.require(
            {build.pid, detached.pid} <= pids, "the tools' processes are found in the process table"
        )
    left = [process for process in arena.processes() if psutil.pid_exists(process.pid)]
    arena.judge(
        "session.close.nothing-left",
        holds=not left,
        expected=f"none of {len(pids)} processes is alive, tools that trap signals and left the process group included",
        observed="; ".join(f"{process.pid} {' '.join(process.cmdline)[:100]}" for process in left)
        or "none is alive",
        enforced_by="adapter",
    )


@scenario("session.resume.continues")
async def test_a_resumed_session_continues(arena: Arena) -> None:
    steers = not arena.target.manifest.lacks(Capability.STEER)
    build = arena.script.held_tool("build")
    arena.script.main([say("Building."), shell(build, id="call_build")])
    arena.script.main([say("Built it.")])
    arena.script.main([say("Second answer.")])
    arena.script.main([say("Resumed answer.")])
    async with arena.session(policy="auto") as session:
        turn = await session.start("first prompt")
        await build.started(timeout=PATIENCE)
        if steers:
            await turn.steer("a steer on the way")
        build.finish("the-build-output")
        await finish(arena, turn)
        await run(arena, session, "second prompt")
        session_id = session.id
    async with arena.session(policy="auto", resume=session_id) as resumed:
        outcome = await run(arena, resumed, "third prompt")
        view = (await arena.model.wait_requests(4, timeout=PATIENCE)).view
        texts = (
            "first prompt",
            "Building.",
            "the-build-output",
            *(("a steer on the way",) if steers else ()),
            "Built it.",
            "second prompt",
            "Second answer.",
            "third prompt",
        )
        # Their order is the script's to demand: an earlier text that stands elsewhere departs from it.
        counts = {text: view.count(text) for text in texts}
        arena.judge(
            "session.resume.continues",
            holds=set(counts.values()) == {1}
            and resumed.id == session_id
            and outcome.text == "Resumed answer.",
            expected="each of the earlier texts once, in order, under the same session id",
            observed=f"{counts}, id {'kept' if resumed.id == session_id else 'changed'}",
        )


@scenario("session.fork.original-untouched")
async def test_a_fork_leaves_the_original_alone(arena: Arena) -> None:
    for answer in ("Original one.", "Forked.", "Original two."):
        arena.script.main([say(answer)])
    async with arena.session(policy="auto") as session:
        await run(arena, session, "first prompt")
        session_id = session.id
    before = _record(arena, session_id)
    arena.require(before, f"the harness keeps a transcript whose name holds the id {session_id}")
    async with arena.session(policy="auto", fork=session_id) as fork:
        await run(arena, fork, "only in the fork")
        fork_id = fork.id
    changed = [str(change) for change in _changes(before, _record(arena, session_id))]
    forked = (await arena.model.wait_requests(2, timeout=PATIENCE)).view
    async with arena.session(policy="auto", resume=session_id) as original:
        await run(arena, original, "second prompt")
    later = (await arena.model.wait_requests(3, timeout=PATIENCE)).view
    leaked = later.count("only in the fork") + later.count("Forked.")
    arena.judge(
        "session.fork.original-untouched",
        holds=not changed
        and leaked == 0
        and fork_id != session_id
        and forked.count("first prompt") == 1
        and later.count("Original one.") == 1,
        expected="an id of its own, with the history; the original's record and next request are without it",
        observed=f"record: {changed or 'unchanged'}; {leaked} text(s) of the fork in the original's request",
    )


def _record(arena: Arena, session_id: str) -> dict[Path, str]:
    """The transcripts whose name holds the session's id, with their digests."""
    patterns = arena.target.kit.transcripts
    return {
        path: _digest(path)
        for path in files_below(arena.home)
        if session_id in path.name
        and any(fnmatch(path.relative_to(arena.home).as_posix(), each) for each in patterns)
    }


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _changes(before: dict[Path, str], after: dict[Path, str]) -> list[Path]:
    return [path for path, digest in before.items() if after.get(path) != digest]


@scenario("session.env.clean")
async def test_the_surroundings_do_not_leak_in(arena: Arena) -> None:
    user_home = arena.outside / "user-home"
    _furnish(user_home)
    before = arena.tree(user_home)
    arena.script.main([shell("env", id="call_env")])
    arena.script.main([say("Seen.")])
    places = {name: str(user_home / place) for name, place in USER_PLACES.items()}
    baits = POLLUTION | places
    surroundings = arena.environment | baits
    async with arena.session(policy="auto", environment=surroundings) as session:
        harness_environment = _environment(session)
        await run(arena, session, "show the environment")
    requests = arena.model.requests
    seen = [str(request.body) + str(request.headers) for request in requests]
    # Keys are kept as a digest: what differs from ours is somebody else's.
    own = redact({"authorization": f"Bearer {DUMMY_KEY}", "x-api-key": DUMMY_KEY})[0]
    keys = {
        name for request in requests for name in request.redacted if request.headers[name] != own.get(name)
    }
    leaked = sorted(
        {name for name, value in baits.items() if harness_environment.get(name) == value}
        | {bait for bait in ("bait-", str(user_home)) for text in seen if bait in text}
        | {f"a key that is not ours, in {name}" for name in keys}
    )
    touched = [str(change) for change in arena.difference(before, arena.tree(user_home), ignore=())]
    arena.judge(
        "session.env.clean",
        holds=bool(harness_environment) and not leaked and not touched,
        expected="no variable of a surrounding agent, no bait of the user's files in a request, these as before",
        observed=f"leaked {leaked or 'nothing'}; user's files: {touched or 'as before'}; "
        f"{len(requests)} request(s)",
        enforced_by="adapter",
    )


def _environment(session: Session) -> dict[str, str]:
    assert session.link is not None
    return psutil.Process(session.link.process.pid).environ()


def _furnish(user_home: Path) -> None:
    """A user's configuration with baits in it, which would show in a request if it were read."""
    baits = {
        ".claude/settings.json": '{"model": "bait-model"}',
        ".claude/CLAUDE.md": "bait-memory",
        ".claude.json": "{}",
        ".codex/config.toml": 'model = "bait-model"\n',
        ".codex/AGENTS.md": "bait-memory",
        ".codex/auth.json": '{"OPENAI_API_KEY": "bait-key"}',
    }
    for name, text in baits.items():
        path = user_home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
