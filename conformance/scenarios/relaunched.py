"""A real harness that is started by another command line, on purpose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from checkrein.adapters.interface import HarnessAdapter, Launch, SessionSpec
from checkrein.adapters.wrapped import WrappedAdapter

Words = tuple[str, ...]


class Relaunched(WrappedAdapter):
    """The harness's own adapter, with its command line changed on the way out.

    Args:
        adapter: the honest one.
        change: gives the words of the command line that is used, from those of the honest one.

    Attributes:
        launched: how the newest process was started; None before the first.
    """

    def __init__(
        self, adapter: HarnessAdapter, change: Callable[[Words], Words] = lambda words: words
    ) -> None:
        super().__init__(adapter)
        self._change = change
        self.launched: Launch | None = None

    def launch(self, spec: SessionSpec) -> Launch:
        launch = self._adapter.launch(spec)
        self.launched = replace(launch, argv=self._change(tuple(launch.argv)))
        return self.launched
