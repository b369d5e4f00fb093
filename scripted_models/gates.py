"""Gates: named places where a scripted answer is held until the test opens them."""

from collections.abc import Callable

from checkrein.scripted_models.errors import ScriptError
from checkrein.scripted_models.stage import Stage


class Gate:
    """A named place in a script. `reached` once an answer stands at it, passed once it is opened.

    Reached means that everything before the gate has been handed to the connection, not that the harness has
    read it: Claude Code 2.1.332, interrupted at that very moment, drops text that it had not read yet. A scenario
    about text that was seen waits for the harness's own sign of it as well.

    With `never_opened` the script says that the answer is to be held for ever (an interrupt will end it).
    """

    def __init__(self, name: str, stage: Stage, *, never_opened: bool = False) -> None:
        self.name = name
        self.never_opened = never_opened
        self._stage = stage
        self._reached = False
        self._opened = False
        self._listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"Gate({self.name!r})"

    @property
    def is_reached(self) -> bool:
        """Whether an answer has come to this gate."""
        return self._reached

    @property
    def is_open(self) -> bool:
        """Whether the gate has been opened."""
        return self._opened

    async def reached(self, *, timeout: float) -> None:
        """Wait until an answer stands at this gate; raises DeadlineExceeded after `timeout` seconds."""
        await self._stage.wait(lambda: self._reached or None, f"gate {self.name!r} to be reached", timeout)

    def open(self) -> None:
        """Let whatever stands at the gate, or comes to it later, pass. Callable from any thread.

        Raises ScriptError if the gate was declared `never_opened`.
        """
        if self.never_opened:
            raise ScriptError(f"gate {self.name!r} was declared never_opened and cannot be opened")
        with self._stage.watch:
            if self._opened:
                return
            self._opened = True
            listeners, self._listeners = self._listeners, []
            self._stage.record("gate_opened", gate=self.name)
            self._stage.watch.changed()
        for listener in listeners:
            listener()

    def arrive(self, when_open: Callable[[], None]) -> None:
        """For the server: an answer stands here; call `when_open` once it may pass."""
        with self._stage.watch:
            self._reached = True
            self._stage.record("gate_reached", gate=self.name)
            self._stage.watch.changed()
            if not self._opened:
                self._listeners.append(when_open)
                return
        when_open()
