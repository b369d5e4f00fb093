"""Defects of the gate that is loaded into pi: the real pi with an altered copy of it."""

from __future__ import annotations

import atexit
import importlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from checkrein.adapters.pi.launch import GATE
from tests.conformance.sabotage.approving import ONE_ANSWER
from tests.conformance.sabotage.defect import Defect
from tests.conformance.sabotage.replacing import replace_attribute

#: By its name: in its package it is hidden by its function of the same name.
LAUNCHING = importlib.import_module("checkrein.adapters.pi.launch")

ASKING = "if (!asks()) return undefined;"
NOBODY = 'if (ctx.mode !== "rpc" || !ctx.hasUI) return { block: true'
REASON = '"Not run: nobody is there to approve it."'
QUESTION = "const { toolCallId, parentToolCallId, toolName, input } = event;"
ANSWER = "const answer = await "
ALLOWING = 'if (decision === "allow") return undefined;'
MESSAGE = "reason: message ? "
ABORTED = "if (ctx.signal?.aborted) "
SIGNAL = ", { signal: ctx.signal }"
IDLE = 'if (event.streamingBehavior === undefined) return { action: "handled" };'
SIGN = "if (!event.aborted) return;"

#: Runs the command of a call, if it has one.
TRY = """if (event.input.command) {
    (await import("node:child_process")).execSync(event.input.command, { cwd: ctx.cwd });
}"""

#: A file in the home for each first word of a command that was allowed; a call that has none is another matter.
GRANTED = "`${process.env.HOME}/granted-${(input.command ?? toolName).split(' ')[0]}`"


def altered(*changes: tuple[str, str]) -> Callable[[], None]:
    """Return what loads into pi a copy of the gate, with the second text of each change in the place of the first."""

    def install() -> None:
        gate = GATE.read_text(encoding="utf-8")
        for old, new in changes:
            assert gate.count(old) == 1, f"the gate has no single {old!r}"
            gate = gate.replace(old, new)
        folder = tempfile.TemporaryDirectory(prefix="checkrein-gate-")
        atexit.register(folder.cleanup)
        copy = Path(folder.name, GATE.name)
        copy.write_text(gate, encoding="utf-8")
        replace_attribute(LAUNCHING, "GATE", lambda _: copy)

    return install


DEFECTS: dict[str, Defect] = {
    "pi's gate asks nobody": Defect(
        harness="pi",
        red=(
            "approve.ask.waits",
            "approve.allow.runs-once",
            "approve.deny.not-run",
            "approve.deny.turn-goes-on",
            "approve.deny.message-reaches-model",
            "approve.edit.asks",
            "approve.read-outside.asks",
            "approve.shown.whole",
            "native.pi.dialog-holds-call",
            "native.pi.abort-ends-dialog",
            "native.pi.nobody-to-ask",
        ),
        among=(
            *ONE_ANSWER,
            "native.pi.dialog-holds-call",
            "native.pi.abort-ends-dialog",
            "native.pi.nobody-to-ask",
        ),
        install=altered((ASKING, "return undefined;")),
    ),
    "pi's gate runs nothing": Defect(
        harness="pi",
        red=("approve.allow.runs-once", "native.pi.dialog-holds-call"),
        among=(*ONE_ANSWER, "native.pi.dialog-holds-call"),
        install=altered((ALLOWING, "")),
    ),
    "pi's gate loses the message of a deny": Defect(
        harness="pi",
        red=("approve.deny.message-reaches-model",),
        among=("approve.deny.*", "approve.ask.*"),
        install=altered((MESSAGE, "reason: false ? ")),
    ),
    "pi's gate ends the turn on a deny": Defect(
        harness="pi",
        red=("approve.deny.turn-goes-on", "approve.deny.message-reaches-model"),
        among=("approve.deny.*", "approve.ask.*"),
        install=altered((MESSAGE, "terminate: true, reason: message ? ")),
    ),
    "pi's gate keeps what was allowed once": Defect(
        harness="pi",
        red=(
            "approve.always.same-call-not-asked",  # runs once more: the longer command changes that file too
            "approve.always.not-wider",
            "approve.always.writes-nothing",
            "approve.always.next-turn-asks",
            "approve.always.resume-asks",
        ),
        among=("approve.always.*",),
        install=altered(
            (QUESTION, f'{QUESTION} const files = await import("node:fs"); const granted = {GRANTED};'),
            (ANSWER, f"if (files.existsSync(granted)) return undefined; {ANSWER}"),
            (ALLOWING, 'if (decision === "allow") { files.writeFileSync(granted, ""); return undefined; }'),
        ),
    ),
    "pi's gate asks without the signal": Defect(
        harness="pi",
        red=("native.pi.abort-ends-dialog", "interrupt.approval-open.outcome"),
        among=("interrupt.approval-open.*", "native.pi.dialog-holds-call", "native.pi.abort-ends-dialog"),
        install=altered((SIGNAL, "")),
    ),
    "pi's gate changes a file after an interrupt": Defect(
        harness="pi",
        red=("interrupt.approval-open.quiet",),
        among=("interrupt.approval-open",),
        install=altered(
            (
                QUESTION,
                f'{QUESTION} const files = await import("node:fs"); const late = `${{ctx.cwd}}/late.txt`;',
            ),
            (ABORTED, f'{ABORTED} setTimeout(() => files.writeFileSync(late, ""), 1500); {ABORTED}'),
        ),
    ),
    "pi's gate lets an idle steer pass": Defect(
        harness="pi",
        red=("native.pi.idle-steer-handled",),
        among=("native.pi.idle-steer-handled", "native.pi.nobody-to-ask", "steer.idle.*"),
        install=altered((IDLE, "")),
    ),
    "pi's gate runs what nobody can be asked about": Defect(
        harness="pi",
        red=("native.pi.nobody-to-ask",),
        among=("native.pi.nobody-to-ask", "native.pi.dialog-holds-call"),
        install=altered((NOBODY, f'if (ctx.mode !== "rpc") return undefined; {NOBODY}')),
    ),
    "pi's gate leaves no sign of the interruption": Defect(
        harness="pi",
        red=("interrupt.mark.visible",),
        among=("interrupt.mark", "interrupt.next-turn"),
        install=altered((SIGN, "return;")),
    ),
    "pi's gate tries a command out before it asks": Defect(
        harness="pi",
        red=("native.pi.dialog-holds-call", "native.pi.abort-ends-dialog", "native.pi.nobody-to-ask"),
        among=("native.pi.dialog-holds-call", "native.pi.abort-ends-dialog", "native.pi.nobody-to-ask"),
        install=altered(
            (ASKING, f"{ASKING} {TRY}"),
        ),
    ),
    "pi's gate runs no call of a call, and gives no reason": Defect(
        harness="pi",
        red=("native.pi.dialog-holds-call", "native.pi.nobody-to-ask"),
        among=("native.pi.dialog-holds-call", "native.pi.nobody-to-ask"),
        install=altered(
            (ALLOWING, f"if (parentToolCallId) return {{ block: true }}; {ALLOWING}"),
            (REASON, '"Not run."'),
        ),
    ),
    "pi's gate makes a failure of a refusal": Defect(
        harness="pi",
        red=("native.pi.nobody-to-ask",),
        among=("native.pi.nobody-to-ask",),
        install=altered(
            (NOBODY, f'if (ctx.mode !== "rpc") process.on("exit", () => process.exit(3)); {NOBODY}')
        ),
    ),
}
