"""Scripts: what a model will say, lane by lane and step by step, and what each request must hold."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.gates import Gate
from checkrein.scripted_models.held_tools import HeldTool
from checkrein.scripted_models.lanes import Lane
from checkrein.scripted_models.reply import (
    Cut,
    EditFile,
    Element,
    Fail,
    Hold,
    ReadFile,
    Shell,
    Silence,
    Tool,
    Usage,
    WriteFile,
)
from checkrein.scripted_models.seeing import Sees
from checkrein.scripted_models.stage import Stage

#: A Unix socket's path may have 107 bytes on Linux and 103 on macOS.
LONGEST_SOCKET_PATH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: its lane, its number there from 0, and how many requests it answers (`times`)."""

    lane: Lane
    number: int
    reply: tuple[Element, ...]
    sees: Sees | None
    usage: Usage
    times: int
    until: Gate | None = None

    def __str__(self) -> str:
        return f"step {self.number} of lane {self.lane}"


class Script:
    """What one scripted model does in one session.

    `side` answers every request of the side lane (titles, probes) that has no step of its own; without it
    such a request is unscripted. `count_tokens` is the answer to every token count. A script is played by
    one session only.
    """

    def __init__(self, *, name: str = "", side: str | None = None, count_tokens: int = 1000) -> None:
        self.name = name
        self.side = side
        self.count_tokens = count_tokens
        self.stage = Stage()
        self._steps: dict[Lane, list[Step]] = {}
        self._gates: dict[str, Gate] = {}
        self._tools: dict[str, HeldTool] = {}
        self._call_ids: set[str] = set()
        self._socket_folder: Path | None = None

    def main(
        self,
        reply: Sequence[Element],
        *,
        sees: Sees | None = None,
        usage: Usage | None = None,
        times: int = 1,
        until: Gate | None = None,
    ) -> Step:
        """Add the next step of the main lane; see `lane`."""
        return self.lane(Lane.MAIN, reply, sees=sees, usage=usage, times=times, until=until)

    def lane(
        self,
        lane: Lane | str,
        reply: Sequence[Element],
        *,
        sees: Sees | None = None,
        usage: Usage | None = None,
        times: int = 1,
        until: Gate | None = None,
    ) -> Step:
        """Add a step to a lane (`main`, `side`, `compact`, `agent:<n>`); steps are used in strict order.

        `times` requests are answered with this same step, for a harness that retries, or all requests until the gate
        `until` is opened (`fail` brings its own of both).
        Raises ScriptError if the reply makes no sense or a call id is used twice.
        """
        try:
            place = Lane.parse(lane)
        except ValueError as error:
            raise ScriptError(str(error)) from None
        if place == Lane.COUNT_TOKENS:
            raise ScriptError("the lane count_tokens has no steps: set Script(count_tokens=...)")
        steps = self._steps.setdefault(place, [])
        number = len(steps)
        elements = tuple(self._identified(reply, place, number))
        for element in elements[:-1]:
            if isinstance(element, (Fail, Cut, Silence)):
                raise ScriptError(f"nothing can follow {type(element).__name__.lower()} in a reply")
        times = max([times, *(e.times for e in elements if isinstance(e, Fail))])
        until = next((e.until for e in elements if isinstance(e, Fail)), None) or until
        if times < 1:
            raise ScriptError("times must be at least 1")
        step = Step(
            lane=place,
            number=number,
            reply=elements,
            sees=sees,
            usage=usage or Usage(),
            times=times,
            until=until,
        )
        steps.append(step)
        return step

    def gate(self, name: str, *, never_opened: bool = False) -> Gate:
        """Make a gate. It must be reached and opened, or be declared `never_opened` (and then be reached)."""
        if name in self._gates:
            raise ScriptError(f"there is already a gate {name!r}")
        gate = self._gates[name] = Gate(name, self.stage, never_opened=never_opened)
        return gate

    def held_tool(self, name: str, *, ignore_signals: bool = False, never_started: bool = False) -> HeldTool:
        """Make a held tool. It must be started, and be finished or be dead at the end.

        `ignore_signals`: the process traps INT and TERM. `never_started`: it must not run at all.
        """
        if name in self._tools:
            raise ScriptError(f"there is already a held tool {name!r}")
        held = self._tools[name] = HeldTool(
            name,
            self.stage,
            str(self.socket_path),
            ignore_signals=ignore_signals,
            never_started=never_started,
        )
        return held

    @property
    def socket_path(self) -> Path:
        """Where this script's held tools find the kit; the folder is made at the first use."""
        if self._socket_folder is None:
            folder = Path(tempfile.mkdtemp(prefix="ckr-"))
            if len(bytes(folder)) + 2 > LONGEST_SOCKET_PATH:
                folder.rmdir()
                folder = Path(tempfile.mkdtemp(prefix="ckr-", dir="/tmp"))
            self._socket_folder = folder
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return self._socket_folder / "s"

    @property
    def gates(self) -> dict[str, Gate]:
        """The gates by name."""
        return dict(self._gates)

    @property
    def held_tools(self) -> dict[str, HeldTool]:
        """The held tools by name."""
        return dict(self._tools)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes that have steps."""
        return tuple(self._steps)

    def steps(self, lane: Lane | str = Lane.MAIN) -> tuple[Step, ...]:
        """The steps of one lane, in order."""
        return tuple(self._steps.get(Lane.parse(lane), ()))

    def _identified(self, reply: Iterable[Element], lane: Lane, number: int) -> Iterable[Element]:
        """Give each call that has no id one that is unique and the same in every run."""
        calls = 0
        for element in reply:
            if isinstance(element, Hold) and self._gates.get(element.gate.name) is not element.gate:
                raise ScriptError(f"gate {element.gate.name!r} belongs to another script")
            if not isinstance(element, (Tool, Shell, WriteFile, EditFile, ReadFile)):
                yield element
                continue
            place = "" if lane == Lane.MAIN else str(lane).replace(":", "") + "_"
            element = replace(element, id=element.id or f"call_{place}{number}_{calls}")
            calls += 1
            if element.id in self._call_ids:
                raise ScriptError(f"call id {element.id!r} is used twice")
            self._call_ids.add(element.id or "")
            yield element
