"""What can go wrong between a driver and a harness, one class per condition.

The life of a session, and what each step can raise:

* before anything runs: `UnknownHarness`, `HarnessMissing`, `Unsupported`, `BadRequest`, `NotFilledIn`
* opening: `TransportError` (the transport's family), `HandshakeFailed`, `SessionNotFound`, `PolicyNotEffective`
* a turn: `TurnActive`, `NoActiveTurn`, `SteerRejected`, `WithdrawRefused`, `ApprovalStale`, `EventsTaken`
* any call to the harness: `CallExpired`, `CallRefused`, `HarnessDied`, `SessionClosed`

Errors carry data; the command line renders them.
"""

from __future__ import annotations

from enum import StrEnum


class CheckreinError(Exception):
    """Raised when a foreseeable fault stops what was asked for.

    Args:
        what: what happened, one sentence.
        where: the file, harness, command or field that it concerns; empty when that is in `what`.
        advice: what to do next; empty when nothing can be advised.
    """

    exit_status = 1

    def __init__(self, what: str, *, where: str = "", advice: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.advice = advice

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        hint = f"; {self.advice}" if self.advice else ""
        return f"{self.what}{place}{hint}"


class BadRequest(CheckreinError):
    """Raised when an argument has a value that can never work."""

    exit_status = 2


class UnknownHarness(CheckreinError):
    """Raised when no adapter of that name is installed."""

    exit_status = 2


class HarnessMissing(CheckreinError):
    """Raised when the adapter is there but the harness's binary is not."""

    exit_status = 3


class Unsupported(CheckreinError):
    """Raised when the harness lacks the capability that was asked for; nothing has run."""

    exit_status = 2


class NotFilledIn(CheckreinError):
    """Raised by an adapter that `checkrein new-adapter` wrote, at a place that its author has not written yet.

    Args:
        name: of the function, as in its file.
        file: the `__file__` of its module.
        todo: what to write there.
    """

    def __init__(self, name: str, file: str, *, todo: str) -> None:
        super().__init__(f"`{name}` is not filled in yet", where=file, advice=todo)


class HandshakeFailed(CheckreinError):
    """Raised when the harness started but did not come to a usable conversation."""


class SessionNotFound(CheckreinError):
    """Raised when the session to resume or fork does not exist in the harness's store."""


class PolicyNotEffective(CheckreinError):
    """Raised when the harness says that it runs under another policy than the one asked for."""


class SessionClosed(CheckreinError):
    """Raised when a session is used after it was closed."""


class TurnActive(CheckreinError):
    """Raised when a turn is to start while another one runs."""


class NoActiveTurn(CheckreinError):
    """Raised when there is no turn to interrupt."""


class EventsTaken(CheckreinError):
    """Raised when the events of a turn are read by a second consumer."""


class CallExpired(CheckreinError):
    """Raised when the harness did not answer a call within its deadline."""


class CallRefused(CheckreinError):
    """Raised when the harness answered a call with an error.

    Args:
        code: the harness's own error code, where it has one.
        message: the harness's own words.
    """

    def __init__(
        self, what: str, *, code: int | str | None = None, message: str = "", where: str = ""
    ) -> None:
        super().__init__(what, where=where)
        self.code = code
        self.message = message


class HarnessDied(CheckreinError):
    """Raised when the harness's process ended while something was waited for.

    Args:
        status: the exit status in words, such as `exit status 1` or `signal 9`.
        stderr: the last lines that the process wrote on its standard error.
    """

    def __init__(self, what: str, *, status: str, stderr: str) -> None:
        super().__init__(what, where=status, advice=f"its last words were: {stderr[-400:]}" if stderr else "")
        self.status = status
        self.stderr = stderr


class SteerReason(StrEnum):
    """Why a steer was rejected."""

    NO_ACTIVE_TURN = "no_active_turn"
    TURN_ENDED = "turn_ended"
    INTERRUPTING = "interrupting"
    NOT_STEERABLE = "not_steerable"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    CLOSING = "closing"


class SteerRejected(CheckreinError):
    """Raised when a steer cannot join the turn; the model will not see it.

    Args:
        reason: one of the closed set.
        by: `adapter` when we refused it before it was sent, `harness` when the harness did.
        message: the harness's own words, when it refused.
    """

    def __init__(self, reason: SteerReason, *, by: str = "adapter", message: str = "") -> None:
        super().__init__(f"the steer was rejected: {reason.value}", where=message)
        self.reason = reason
        self.by = by
        self.message = message


class WithdrawRefused(CheckreinError):
    """Raised when a steer cannot be taken back any more; the model sees it, has seen it, or never will.

    Args:
        state: where the steer is, by the name of its state.
    """

    def __init__(self, what: str, *, state: str) -> None:
        super().__init__(what, where=f"the steer is {state}")
        self.state = state


class ApprovalStale(CheckreinError):
    """Raised when an approval is answered after it was resolved; nothing was sent to the harness.

    Args:
        resolved_by: who resolved it.
    """

    def __init__(self, what: str, *, resolved_by: str) -> None:
        super().__init__(what, where=f"resolved by {resolved_by}")
        self.resolved_by = resolved_by
