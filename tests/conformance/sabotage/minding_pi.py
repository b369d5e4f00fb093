"""Defects of the adapter of pi, beside those of its gate."""

# Stand-ins for functions of any shape: strict types would say nothing here.
# pyright: basic

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from checkrein.adapters import interrupting as interrupt_ladder
from checkrein.adapters.native import NativeEvent, UsageReported
from checkrein.adapters.pi import connection
from checkrein.adapters.pi.connection import PiConnection
from checkrein.adapters.pi.launch import policy_asked
from checkrein.adapters.pi.messages import Message, Ready
from checkrein.adapters.pi.translate import Translator
from checkrein.adapters.transport.pipes import WriteEnd
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.gating import LAUNCHING
from tests.conformance.sabotage.replacing import replace_attribute


def demand_no_notice() -> None:
    """A pi whose gate said nothing is taken for one whose gate did."""

    def make(open_conversation: Any) -> Any:
        async def opened(self: Any) -> Any:
            state = await self._call("get_state")
            if state.success and self._ready is None:
                asked = policy_asked(self.spec)
                self._ready = Ready(
                    checkrein="ready",
                    token=self._token,
                    version="1.6.0",
                    policy=asked["policy"],
                    project_trusted=False,
                    mode="rpc",
                    answers=True,
                    cwd=asked["cwd"],
                )
            return await open_conversation(self)

        return opened

    replace_attribute(PiConnection, "open", make)


def take_any_token() -> None:
    """Any words of a gate are taken for those of the one that this driver has started."""

    def make(read: Any) -> Any:
        def credulous(message: Any, token: str) -> Any:
            words = msgspec.json.decode(msgspec.json.decode(message, type=str))
            return read(message, words.get("token", ""))

        return credulous

    replace_attribute(connection, "read_ready", make)


def abort_only() -> None:
    """An interrupt does not take back first what is queued, and nothing is taken back when the turn ends."""

    def make(begin: Any) -> Any:
        async def begun(self: Any, command: str, **named: Any) -> str:
            return await begin(self, "get_state" if command == "clear_queue" else command, **named)

        return begun

    replace_attribute(PiConnection, "_begin", make)
    replace_attribute(PiConnection, "_turn_over", lambda _: lambda self: None)


def abort_in_the_same_breath() -> None:
    """The abort is sent along with the prompt that is interrupted while it starts, and not again."""
    sent: list[int] = []

    def make_write(write_now: Any) -> Any:
        def with_abort(self: Any, data: Any) -> int:
            if b'"message":"rewrite it"' not in bytes(data):
                return write_now(self, data)
            # In one piece, so that it is no matter of luck what pi does in between.
            sent.append(write_now(self, bytes(data) + b'{"id":"0","type":"abort"}\n'))
            return len(data)

        return with_abort

    def make_interrupt(interrupt: Any) -> Any:
        async def interrupted(self: Any) -> None:
            if sent:
                sent.clear()
            else:
                await interrupt(self)

        return interrupted

    replace_attribute(WriteEnd, "write_now", make_write)
    replace_attribute(PiConnection, "interrupt", make_interrupt)


def end_with_the_agent() -> None:
    """`agent_end` is taken for the end of the turn."""

    def make(event: Any) -> Any:
        def hasty(self: Any, message: Any) -> Iterator[NativeEvent]:
            if message.type == "agent_end" and self.turn is not None and self.turn.opened:
                yield from self._settled(False)
            yield from event(self, message)

        return hasty

    replace_attribute(Translator, "event", make)


def go_by_the_stop_reason() -> None:
    """A turn counts as interrupted if the model's last answer was."""
    last: dict[str, str] = {}

    def make_ended(ended: Any) -> Any:
        def noted(self: Any, message: Message) -> Iterator[NativeEvent]:
            if message.role == "assistant":
                last["reason"] = message.stop_reason
            yield from ended(self, message)

        return noted

    def make_settled(settled: Any) -> Any:
        return lambda self, aborted: settled(self, last.get("reason") == "aborted")

    replace_attribute(Translator, "_message_ended", make_ended)
    replace_attribute(Translator, "_settled", make_settled)


def sweep_nothing() -> None:
    """What pi does not end itself is left alone."""

    async def end_nothing(*_: object, **__: object) -> tuple[()]:
        return ()

    replace_attribute(interrupt_ladder, "end_tools", lambda _: end_nothing)


def steer_one_by_one() -> None:
    """pi is left to give the model one steer with each request."""

    def make(settings: Any) -> Any:
        return lambda endpoint: settings(endpoint).replace(
            b'"steeringMode": "all"', b'"steeringMode": "one-at-a-time"'
        )

    replace_attribute(LAUNCHING, "_settings", make)


def count_one_answer() -> None:
    """Of the answers of a turn, one is counted."""

    def make(event: Any) -> Any:
        def once(self: Any, message: Any) -> Iterator[NativeEvent]:
            for reported in event(self, message):
                if isinstance(reported, UsageReported) and self.turn is not None:
                    if getattr(self, "counted", None) is self.turn:
                        continue
                    self.counted = self.turn
                yield reported

        return once

    replace_attribute(Translator, "event", make)


DEFECTS: dict[str, Defect] = {
    "demands no word of pi's gate": Defect(
        harness="pi",
        red=("native.pi.gate-demanded",),
        among=("native.pi.gate-*",),
        install=demand_no_notice,
    ),
    "takes any token of pi's gate": Defect(
        harness="pi",
        red=("native.pi.gate-demanded",),
        among=("native.pi.gate-demanded",),
        install=take_any_token,
    ),
    "interrupts pi without clearing its queue": Defect(
        harness="pi",
        red=("native.pi.clear-queue", "interrupt.queued-steers.not-run"),
        among=("native.pi.clear-queue", "native.pi.agent-settled", "interrupt.queued-steers"),
        install=abort_only,
    ),
    "aborts in the same breath as the prompt of pi": Defect(
        harness="pi",
        red=("interrupt.before-request.outcome",),
        # Not its quiet: the kit takes the pi that follows one that had to be ended for a process of its tools.
        among=("interrupt.before-request.outcome",),
        install=abort_in_the_same_breath,
    ),
    "takes agent_end for the end": Defect(
        harness="pi",
        red=("fault.model-500",),
        among=("fault.model-500", "send.running.steers"),
        install=end_with_the_agent,
    ),
    "goes by pi's stop reason": Defect(
        harness="pi",
        red=("interrupt.retry-backoff.outcome",),
        among=("interrupt.retry-backoff", "interrupt.mid-text.outcome"),
        install=go_by_the_stop_reason,
    ),
    "leaves what pi does not end": Defect(
        harness="pi",
        red=("interrupt.survivors.listed",),
        among=("interrupt.survivors", "interrupt.tool-running"),
        install=sweep_nothing,
    ),
    "gives pi's model its steers one by one": Defect(
        harness="pi",
        red=("steer.order.kept",),
        among=("steer.order.*", "steer.mid-tool.*"),
        install=steer_one_by_one,
    ),
    "counts one answer of pi's model": Defect(
        harness="pi",
        red=("record.usage.per-turn",),
        among=("record.usage.*",),
        install=count_one_answer,
    ),
}
