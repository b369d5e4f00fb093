"""Badges: one JSON file per harness and profile, in the shape that the shields endpoint reads."""

from __future__ import annotations

import json
from collections import Counter

from checkrein.conformance.clauses import Contract
from checkrein.conformance.reports.profiles import Profile, ProfileStanding, Standing, standings
from checkrein.conformance.results import Results
from checkrein.conformance.run_folder import folder_name

_COLORS = {
    Standing.KEPT: "brightgreen",
    Standing.SHORT: "green",
    Standing.KNOWN_FAILURES: "yellow",
    Standing.PARTLY_RUN: "lightgrey",
    Standing.NOT_RUN: "lightgrey",
    Standing.BROKEN: "red",
}


def badge_files(results: Results, profiles: tuple[Profile, ...], contract: Contract) -> dict[str, str]:
    """The text of each badge by the name of its file: `codex-steer.json`.

    Where the results hold several versions of one harness, the version is part of the name.
    """
    versions = Counter(harness.name for harness in results.header.harnesses)
    badges: dict[str, str] = {}
    for one in standings(results, profiles, contract):
        harness = one.harness
        name = harness.name if versions[harness.name] == 1 else f"{harness.name}-{harness.version}"
        badges[f"{folder_name(f'{name}-{one.profile.name}')}.json"] = _badge(one)
    return badges


def _badge(one: ProfileStanding) -> str:
    badge = {
        "schemaVersion": 1,
        "label": f"{one.harness.name} {one.harness.version} {one.profile.name}",
        "message": _message(one),
        "color": _COLORS[one.standing],
    }
    return json.dumps(badge, ensure_ascii=False, indent=2) + "\n"


def _message(one: ProfileStanding) -> str:
    match one.standing:
        case Standing.KEPT:
            return "kept"
        case Standing.SHORT:
            return f"kept, {one.number} SHOULD not"
        case Standing.KNOWN_FAILURES:
            return f"{one.number} known failure{'' if one.number == 1 else 's'}"
        case Standing.PARTLY_RUN:
            return "partly run"
        case Standing.NOT_RUN:
            return "not run"
        case Standing.BROKEN:
            return f"{one.number} broken"
