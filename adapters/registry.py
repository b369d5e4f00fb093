"""Which harnesses there are: entry points of the group `checkrein.adapters`, which outside packages extend."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from checkrein.adapters.errors import BadRequest, UnknownHarness
from checkrein.adapters.interface import HarnessAdapter

GROUP = "checkrein.adapters"


def harness_names() -> tuple[str, ...]:
    """The names of all adapters that are installed, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def find_harness(name: str) -> HarnessAdapter:
    """The adapter of that name.

    Raises:
        UnknownHarness: no installed package brings it.
        BadRequest: the package that brings it cannot be loaded, brings something else, or two packages bring it.
    """
    points = {point.value: point for point in entry_points(group=GROUP) if point.name == name}
    match list(points.values()):
        case []:
            known = ", ".join(harness_names()) or "none"
            raise UnknownHarness(f"there is no harness {name!r}", advice=f"known: {known}")
        case [point]:
            return _load(point)
        case several:
            places = ", ".join(point.value for point in several)
            raise BadRequest(f"two packages bring the harness {name!r}", where=places, advice="uninstall one")


def _load(point: EntryPoint) -> HarnessAdapter:
    try:
        adapter = point.load()
    except Exception as fault:  # whatever the outside package's import raises
        raise BadRequest(
            f"the adapter of {point.name!r} cannot be loaded: {fault!r}",
            where=point.value,
            advice="reinstall its package",
        ) from fault
    if not isinstance(adapter, HarnessAdapter):
        raise BadRequest(
            f"the entry point of {point.name!r} is no HarnessAdapter",
            where=point.value,
            advice="point it at an instance",
        )
    return adapter
