"""What the attacks of `fixtures/hostile` achieve on the real CLIs, with the open launch recipe and with ours.

`python -m checkrein.conformance.hostile_observed [HARNESS...]` tries them on the pinned harnesses (a few minutes) and
writes `fixtures/hostile/observed.json`, from which `security_document` makes its table.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import anyio
import msgspec

from checkrein.adapters.interface import HarnessAdapter
from checkrein.adapters.provision import pinned_versions
from checkrein.conformance.arena import Arena
from checkrein.conformance.arena_processes import kill_with_home
from checkrein.conformance.hostile.attacks import Attack, attacks_on, hostile_folder
from checkrein.conformance.judgements import Judgements, KitMistake
from checkrein.conformance.run_folder import RunFolder, folder_name
from checkrein.conformance.scenarios.hostile_sessions import Effect, HostileRun, layouts
from checkrein.conformance.target import Target, find_target

OBSERVED_FILE = "observed.json"

#: How long the attacks that share a session may take, in seconds.
GROUP_SECONDS = 120.0


class Observed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one attack has achieved.

    Args:
        version: of the harness.
        digest: of the attack's description, so that an observation of another attack is found out.
        open: in words, with the open launch recipe.
        closed: the same with the adapter's own; "" for nothing.
    """

    version: str
    digest: str
    open: str
    closed: str


#: What was observed, by harness and attack.
Observations = dict[str, dict[str, Observed]]


def load_observed() -> Observations:
    """What was observed when `observed.json` was written."""
    return msgspec.json.decode((hostile_folder() / OBSERVED_FILE).read_bytes(), type=Observations)


def digest_of(attack: Attack) -> str:
    """Changes with the description of the attack, whatever it says of the effect."""
    bare = msgspec.structs.replace(attack, folder=Path(), open="", title="", seen="")
    return hashlib.sha256(msgspec.json.encode(bare, order="sorted", enc_hook=str)).hexdigest()[:16]


def open_groups(attacks: Iterable[Attack]) -> list[list[Attack]]:
    """The attacks by the session in which each of them can be seen with an open recipe: none hides another there."""
    groups: dict[tuple[str, str, str, str], list[Attack]] = {}
    for attack in attacks:
        own = attack.id if attack.alone else ""
        groups.setdefault((attack.clause, attack.layout, attack.recipe, own), []).append(attack)
    return list(groups.values())


def closed_groups(attacks: Iterable[Attack]) -> list[list[Attack]]:
    """The attacks by clause: with the adapter's own recipe one run tries all of a clause."""
    groups: dict[str, list[Attack]] = {}
    for attack in attacks:
        groups.setdefault(attack.clause, []).append(attack)
    return list(groups.values())


def provoke_open(target: Target, attacks: Sequence[Attack], folder: Path) -> tuple[Effect, ...]:
    """What attacks achieve that share a session, with the open recipe that they name."""
    recipe = target.kit.open_recipes[attacks[0].recipe]
    return _provoke(target, [attacks], folder, adapter=recipe(target.adapter))


def provoke_closed(
    target: Target, attacks: Sequence[Attack], folder: Path, *, again: bool = False
) -> tuple[Effect, ...]:
    """What attacks achieve with the adapter's own recipe.

    Args:
        again: whether each conversation is also resumed and forked.

    Raises:
        KitMistake: a call of theirs was neither carried out nor refused, so that nothing is proven.
    """
    return _provoke(target, layouts(attacks), folder, again=again)


def _provoke(
    target: Target,
    groups: Sequence[Sequence[Attack]],
    folder: Path,
    *,
    adapter: HarnessAdapter | None = None,
    again: bool = False,
) -> tuple[Effect, ...]:
    run_folder = RunFolder(root=folder)
    run_folder.prepare()
    arena = Arena(
        target=target,
        folder=run_folder,
        judgements=Judgements(declared=()),
        name=folder.name,
        seconds=GROUP_SECONDS,
    )

    async def provoke() -> tuple[Effect, ...]:
        with anyio.fail_after(GROUP_SECONDS):
            run = HostileRun(arena, groups, adapter=adapter, again=again)
            effects = await run.run()
            if adapter is None and run.uncalled:
                raise KitMistake(f"the model was not told what came of {', '.join(run.uncalled)}")
            return effects

    try:
        return anyio.run(provoke)
    finally:
        arena.close()
        kill_with_home(run_folder.home)


def observe(target: Target, folder: Path) -> dict[str, Observed]:
    """Try every attack on a harness, with both recipes."""
    attacks = attacks_on(target.harness)
    opened = {
        effect.attack.id: effect.seen
        for number, group in enumerate(open_groups(attacks))
        for effect in provoke_open(target, group, folder / f"open-{number}")
    }
    closed = {
        effect.attack.id: effect.seen
        for group in closed_groups(attacks)
        for effect in provoke_closed(target, group, folder / f"closed-{group[0].clause}")
    }
    return {
        attack.id: Observed(
            version=target.version,
            digest=digest_of(attack),
            open=_lasting(opened[attack.id]),
            closed=_lasting(closed[attack.id]),
        )
        for attack in attacks
    }


def _lasting(seen: str) -> str:
    """The words without what differs from run to run."""
    return re.sub(r"(127\.0\.0\.1):\d+", r"\1", seen)


def main() -> None:
    """Try everything on the harnesses that are named, or on all; write what was observed."""
    wanted = sys.argv[1:] or [harness for harness in pinned_versions() if attacks_on(harness)]
    targets = [find_target(harness) for harness in wanted]
    with tempfile.TemporaryDirectory(prefix="checkrein-hostile-") as folder:
        found = {
            target.harness: observe(target, Path(folder, folder_name(target.harness))) for target in targets
        }
    if (hostile_folder() / OBSERVED_FILE).exists():
        found = load_observed() | found
    text = msgspec.json.format(msgspec.json.encode(found), indent=1).decode()
    (hostile_folder() / OBSERVED_FILE).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
