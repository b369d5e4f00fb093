"""Which clauses are meant by `--only`: ids, beginnings of ids, or shell patterns."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from checkrein.adapters.errors import BadRequest
from checkrein.conformance.clauses import Contract


def select_clauses(patterns: Iterable[str], contract: Contract) -> tuple[str, ...]:
    """The ids that the patterns mean, in the order of the contract; every id when there is no pattern.

    Args:
        patterns: `steer.idle.rejected`, a beginning such as `steer` or `interrupt.mid-text`, or `approve.*.control`.

    Raises:
        BadRequest: a pattern means no clause; names those that are nearest.
    """
    wanted = tuple(patterns)
    if not wanted:
        return contract.ids
    chosen: set[str] = set()
    for pattern in wanted:
        found = {clause_id for clause_id in contract.ids if _means(pattern, clause_id)}
        if not found:
            areas = [area.name for area in contract.areas]
            likely = contract.ids if "." in pattern else (*areas, *contract.ids)
            near = get_close_matches(pattern, likely, n=4, cutoff=0.4 if "." in pattern else 0.6)
            hint = f"did you mean {', '.join(near)}?" if near else f"the areas are {', '.join(areas)}"
            raise BadRequest(f"no clause is called {pattern!r}", where="--only", advice=hint)
        chosen |= found
    return tuple(clause_id for clause_id in contract.ids if clause_id in chosen)


def _means(pattern: str, clause_id: str) -> bool:
    if any(character in pattern for character in "*?["):
        return fnmatchcase(clause_id, pattern)
    return clause_id == pattern or clause_id.startswith(pattern.rstrip(".") + ".")
