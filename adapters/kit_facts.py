"""What the conformance kit must know of a harness beside its adapter: `KIT` in the adapter package's module `kit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from checkrein.adapters.interface import Launch, SessionSpec
from checkrein.adapters.open_recipe import OpenRecipe
from checkrein.scripted_models import HarnessProfile, NativeCall

WireMessage = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Widening:
    """How to make the real harness run under a wider policy than the one asked for, as texts to replace.

    The kit does this on purpose, to see that a session refuses to run then.

    Args:
        argv: words of the command line.
        lines: parts of the lines that are sent.
    """

    argv: Mapping[str, str] = field(default_factory=dict[str, str])
    lines: Mapping[bytes, bytes] = field(default_factory=dict[bytes, bytes])


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptSigns:
    """How an interrupt shows on the wire. Each takes decoded lines.

    Args:
        asks: whether a line to the harness asks it to stop the turn.
        acknowledges: whether a line of the harness (the second one) acknowledges that request (the first one).
        ends_turn: whether a line of the harness tells that the turn has ended.
    """

    asks: Callable[[WireMessage], bool]
    acknowledges: Callable[[WireMessage, WireMessage], bool]
    ends_turn: Callable[[WireMessage], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedKind:
    """A kind of question of the harness to its host, so that the kit can ask it in the harness's place.

    Args:
        name: the harness's word for the kind, and which of its forms this is.
        line: the question as a line of the harness, for the id given.
        fault: what is wrong with the line (decoded) that answers it; "" when that has the shape of the kind.
        decidable: whether a person is asked. None when that depends on what is asked.
    """

    name: str
    line: Callable[[str], bytes]
    fault: Callable[[WireMessage], str]
    decidable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFacts:
    """The harness's lines, for a peer that misbehaves in the harness's place.

    Args:
        ends_turn: texts that are all in the message that ends a turn, and together in no other.
        unknown: messages of kinds that the harness does not have, in the shape of its protocol. One of them holds the
            word `PADDING`, which is filled up to make it huge.
        objects: names of fields whose value is an object with fields of its own, so that a later version may add some.
    """

    ends_turn: tuple[str, ...]
    unknown: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KitFacts:
    """One harness, for the kit.

    Args:
        profile: the harness as a scripted model sees it.
        transcripts: shell patterns, relative to HOME, of the files in which the harness keeps its conversations.
        state: the same for files that any turn may change; a grant in one of them would be seen by its text.
        persistent_grant: the line that answers a question (given as its message) with the harness's own lasting
            grant; the negative control of `allow_always`. None for a harness that has no such grant.
        widening: see there.
        wire: see there.
        interrupt_signs: see there.
        acknowledges_steer: whether a line of the harness (the second one, decoded) acknowledges the line that sent a
            steer (the first one).
        background_call: the call that starts a shell line as a background job, which the model does not wait for.
        brief_call: the call that runs a shell line and is given that many seconds for it.
        asked_kinds: every kind of question that this executable can ask its host, each in all its forms, one that is
            broken, and one of a kind that does not exist.
        unknown_prompt: the line that has the harness open a turn in the conversation of that id, with a prompt that no
            session has sent.
        open_recipes: by name, the harness launched as an ordinary driver launches it, so that the workspace has its
            say: what the attacks of `fixtures/hostile` name as `recipe`. The negative control of `workspace.*`.
        shows_text: the harness shows the model's text while it comes.
        tells_call_ids: it tells the model's own ids of tool calls; else ids of its own.
        tells_retries: it says that it tries a failed model request again.
        bare_run: for a harness of which each turn is a run: how its own program runs a prompt, without an adapter.
        adapter_enforces: ids of the clauses that hold on this harness only by the adapter's help (`docs/harnesses/`).
            Clauses that are the adapter's on every harness are not listed: their scenarios say so.
    """

    profile: HarnessProfile
    transcripts: tuple[str, ...]
    state: tuple[str, ...]
    persistent_grant: Callable[[Mapping[str, object]], bytes] | None
    widening: Widening
    wire: WireFacts
    interrupt_signs: InterruptSigns
    acknowledges_steer: Callable[[WireMessage, WireMessage], bool]
    background_call: Callable[[str], NativeCall]
    brief_call: Callable[[str, int], NativeCall]
    asked_kinds: Callable[[Path], tuple[AskedKind, ...]]
    unknown_prompt: Callable[[str], bytes]
    open_recipes: Mapping[str, OpenRecipe] = field(default_factory=dict[str, OpenRecipe])
    shows_text: bool = True
    tells_call_ids: bool = True
    tells_retries: bool = True
    bare_run: Callable[[SessionSpec, str], Launch] | None = None
    adapter_enforces: frozenset[str] = frozenset()
