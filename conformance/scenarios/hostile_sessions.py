"""Sessions in hostile workspaces: what the attacks achieve while a person answers, at once or slowly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import anyio

from checkrein.adapters import Session, Turn
from checkrein.adapters.errors import ApprovalStale
from checkrein.adapters.interface import HarnessAdapter
from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.hostile.attacks import Answer, Attack, Call, Shows, ToolCall
from checkrein.conformance.hostile.bait import Caught
from checkrein.conformance.hostile.laying import HostileWorkspace
from checkrein.conformance.judgements import KitMistake
from checkrein.conformance.scenario import Arena
from checkrein.conformance.scenarios.moves import finish, within
from checkrein.scripted_models import DeadlineExceeded, Lane, read_file, say, shell, tool, write_file
from checkrein.scripted_models.reply import Element

#: How long a person who answers slowly takes, in seconds.
SLOWLY = 4.0

#: How long a turn that nobody asked for is waited for after the last one, in seconds. The task of Claude Code 2.1.332
#: that was due began 0.7 s after the first result.
UNBIDDEN = 4.0

#: How long one turn may take with all its answers, in seconds.
ANSWERING = 60.0

#: What each turn is opened with.
PROMPT = "Do what is to be done here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What an attack has achieved.

    Args:
        seen: in words; "" for nothing.
    """

    attack: Attack
    seen: str


def layouts(attacks: Iterable[Attack]) -> list[list[Attack]]:
    """The attacks by the workspace that they can share."""
    found: dict[str, list[Attack]] = {}
    for attack in attacks:
        found.setdefault(attack.layout, []).append(attack)
    return list(found.values())


class HostileRun:
    """Sessions with one harness, in one hostile workspace after the other. Make it before the model is looked at.

    Args:
        groups: the attacks, by the workspace that they share.
        adapter: instead of the harness's own.
        again: whether each conversation is then resumed and forked, for one more turn each, before the effects count.
    """

    def __init__(
        self,
        arena: Arena,
        groups: Sequence[Sequence[Attack]],
        *,
        adapter: HarnessAdapter | None = None,
        again: bool = False,
    ) -> None:
        self._arena = arena
        self._adapter = adapter
        self._again = again
        self._by_call: dict[str, tuple[Answer, bool]] = {}
        self._workspaces = [
            HostileWorkspace(group, place=arena.outside / f"{number}-{group[0].layout}", home=arena.home)
            for number, group in enumerate(groups)
        ]
        self.sessions: tuple[Session, ...] = ()
        self._causes: dict[str, list[str]] = {}
        for workspace in self._workspaces:
            for slowly in self._speeds(workspace):
                self._script(workspace, slowly=slowly)
            for _ in range(2 * again):
                arena.script.main([say("Done again.")])

    async def run(self) -> tuple[Effect, ...]:
        """Provoke every attack; what each has achieved when its session was closed."""
        for workspace in self._workspaces:
            try:
                await self._run_in(workspace)
            finally:
                workspace.close()
        return tuple(
            Effect(attack=attack, seen=self._seen(workspace, attack))
            for workspace in self._workspaces
            for attack in workspace.attacks
        )

    @property
    def uncalled(self) -> list[str]:
        """The calls that the model made and that it was told nothing of."""
        answered = {call_id for request in self._arena.model.requests for call_id in request.view.results}
        return sorted(set(self._by_call) - answered)

    @staticmethod
    def _speeds(workspace: HostileWorkspace) -> tuple[bool, ...]:
        return (False, True) if any(attack.delayed for attack in workspace.attacks) else (False,)

    def _script(self, workspace: HostileWorkspace, *, slowly: bool) -> None:
        for attack in workspace.attacks:
            if slowly and not attack.delayed:
                continue
            if attack.reviewer is not None:
                self._arena.script.lane(Lane.SIDE, [say(attack.reviewer)])
            for number, call in enumerate(attack.calls):
                call_id = f"call_{attack.id}_{'slowly' if slowly else 'quickly'}_{number}"
                self._by_call[call_id] = (call.answer or attack.answer, slowly)
                self._arena.script.main([_element(workspace.call_of(attack, call), call_id)])
        self._arena.script.main([say("Done.")])

    async def _run_in(self, workspace: HostileWorkspace) -> None:
        arena = self._arena
        async with arena.session(
            policy="ask", cwd=workspace.cwd, adapter=self._adapter, retries=0
        ) as session:
            self.sessions += (session,)
            for _ in self._speeds(workspace):
                turn = await session.start(PROMPT)
                await within(
                    arena, "the end of a turn whose calls are answered", self._answer(turn), ANSWERING
                )
                await finish(arena, turn)
            if any(attack.unbidden for attack in workspace.attacks):
                made = len(arena.model.requests)
                with suppress(DeadlineExceeded):
                    await arena.model.wait_requests(made + 1, lane=None, timeout=UNBIDDEN)
        if self._again:
            await self._take_up_again(workspace, session.id)
        causes = [turn.cause for turn in session.foreign_turns]
        self._causes |= {attack.id: causes for attack in workspace.attacks}

    async def _take_up_again(self, workspace: HostileWorkspace, session_id: str) -> None:
        arena, adapter = self._arena, self._adapter
        async with arena.session(cwd=workspace.cwd, resume=session_id, adapter=adapter) as resumed:
            await finish(arena, await resumed.start(PROMPT))
        async with arena.session(cwd=workspace.cwd, fork=session_id, adapter=adapter) as forked:
            await finish(arena, await forked.start(PROMPT))

    async def _answer(self, turn: Turn) -> None:
        async for approval in turn.approvals():
            answer, slowly = self._by_call.get(approval.call.call_id, (Answer.DENY, False))
            if slowly:
                with anyio.move_on_after(SLOWLY):
                    await approval.resolved.wait()
            # Stale when something else has answered meanwhile: that is what the effects tell.
            with suppress(ApprovalStale):
                if answer is Answer.ALLOW:
                    await approval.allow()
                else:
                    await approval.deny("no")

    def _seen(self, workspace: HostileWorkspace, attack: Attack) -> str:
        match attack.shows:
            case Shows.MARKER:
                return ", ".join(f"{name} was made" for name in workspace.marks(attack))
            case Shows.TURN:
                causes = self._causes.get(attack.id, [])
                return ", ".join(f"a turn began that nobody had asked for ({cause})" for cause in causes)
            case Shows.BAIT:
                return ", ".join(_words(caught) for caught in workspace.caught(attack))
            case Shows.TOKEN:
                token = workspace.token(attack)
                requests = [
                    request
                    for request in self._arena.model.requests
                    if token in json.dumps((request.body, dict(request.headers)), ensure_ascii=False)
                ]
                return ", ".join(f"its words are in model request {request.number}" for request in requests)


def achieved(effects: Iterable[Effect]) -> str:
    """The attacks that have achieved something, in words; "" for none."""
    return "; ".join(f"{effect.attack.id}: {effect.seen}" for effect in effects if effect.seen)


def _words(caught: Caught) -> str:
    if not caught.data:
        return "somebody connected to the bait"
    key = " with the real key" if caught.holds(DUMMY_KEY) else " with the session's key" * caught.has_key
    return f"the bait got {caught.first_line[:80]!r}{key}"


def _element(call: Call, call_id: str) -> Element:
    match call:
        case Call(shell=str(line)):
            return shell(line, id=call_id)
        case Call(read_file=str(path)):
            return read_file(path, id=call_id)
        case Call(write_file=str(path)):
            return write_file(path, "written\n", id=call_id)
        case Call(tool=ToolCall(name=name, input=given)):
            return tool(name, given, id=call_id)
        case _:
            raise KitMistake(f"{call} is no call")
