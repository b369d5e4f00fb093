"""An adapter that launches its harness as an ordinary driver does, so that the workspace has its say.

Nothing but the conformance kit's negative control uses it: an attack of a hostile workspace that achieves nothing
even then would prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from checkrein.adapters.interface import Connection, HarnessAdapter, Launch, Opened, SessionSpec
from checkrein.adapters.transport import HarnessProcess
from checkrein.adapters.wrapped import WrappedAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRecipe:
    """What is taken back of a closed launch.

    Args:
        options: words of the command line that are left out, each with the word that follows it.
        flags: words of the command line that are left out.
        words: of the command line, and what stands in their place.
        variables: of the environment that are left out.
        lines: parts of the lines that are sent, as regular expressions, and what stands in their place.
    """

    options: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict[str, str])
    variables: frozenset[str] = frozenset()
    lines: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def __call__(self, adapter: HarnessAdapter) -> HarnessAdapter:
        """The adapter with this recipe."""
        return OpenedUp(adapter, self)


class OpenedUp(WrappedAdapter):
    """An adapter with an open launch recipe. It does not compare the policy either: ordinary drivers do not.

    Args:
        adapter: the honest one.
        recipe: what is taken back.
    """

    def __init__(self, adapter: HarnessAdapter, recipe: OpenRecipe) -> None:
        super().__init__(adapter)
        self._recipe = recipe

    def launch(self, spec: SessionSpec) -> Launch:
        """See `HarnessAdapter.launch`."""
        launch, recipe = self._adapter.launch(spec), self._recipe
        argv: list[str] = []
        words = iter(launch.argv)
        for word in words:
            if word in recipe.options:
                next(words, None)
            elif word not in recipe.flags:
                argv.append(recipe.words.get(word, word))
        environment = {
            name: value for name, value in launch.environment.items() if name not in recipe.variables
        }
        return replace(launch, argv=tuple(argv), environment=environment)

    def connect(self, spec: SessionSpec, process: HarnessProcess) -> Connection:
        """See `HarnessAdapter.connect`."""
        send, lines = process.send, self._recipe.lines

        async def send_opened(line: bytes, *, deadline_seconds: float | None = None) -> None:
            for closed, opened in lines.items():
                line = re.sub(closed, opened, line)
            await send(line, deadline_seconds=deadline_seconds)

        process.send = send_opened
        connection = self._adapter.connect(spec, process)
        open_conversation = connection.open

        async def open_unchecked() -> Opened:
            opened = await open_conversation()
            return replace(opened, policy_effective=opened.policy_asked)

        connection.open = open_unchecked
        return connection
