"""The places in a results file: relative to the file where they lie beside it, so that both can be moved together.

In memory they are whole paths. On disk the run folder is relative to the folder of the results file, and evidence is
relative to the run folder; what lies elsewhere is written without home folders (`~/...`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from checkrein.conformance.results import Check, Evidence, Header, Results, ScenarioRun
from checkrein.conformance.scrubbing import Scrubber


def written_for(results: Results, file: Path, scrubber: Scrubber) -> Results:
    """The results as they are written into that file: places as above, every text scrubbed."""
    run = results.header.run_folder
    scrub = scrubber.text

    def within_run(place: str) -> str:
        return _relative(place, Path(run), scrubber) if run else scrub(place)

    def check(one: Check) -> Check:
        evidence = _placed(one.evidence, within_run)
        return replace(one, expected=scrub(one.expected), observed=scrub(one.observed), evidence=evidence)

    def scenario(one: ScenarioRun) -> ScenarioRun:
        return replace(
            one,
            run_folder=within_run(one.run_folder),
            strays=scrubber.texts(one.strays),
            notes=scrubber.texts(one.notes),
        )

    offline = results.header.offline
    header = replace(
        results.header,
        command=scrubber.texts(results.header.command),
        run_folder=_relative(run, file.resolve().parent, scrubber),
        offline=replace(
            offline,
            reason=scrub(offline.reason),
            attempts=None if offline.attempts is None else scrub(offline.attempts),
        ),
    )
    return replace(
        results,
        header=header,
        checks=tuple(check(one) for one in results.checks),
        scenarios=tuple(scenario(one) for one in results.scenarios),
    )


def moved(results: Results, folder: Path) -> Results:
    """The results of a run whose folder is now that one; all their evidence lies in it."""
    ran = Path(results.header.run_folder)

    def place(old: str) -> str:
        return str(folder / Path(old).relative_to(ran)) if old else ""

    return replace(
        results,
        header=replace(results.header, run_folder=str(folder)),
        checks=tuple(replace(one, evidence=_placed(one.evidence, place)) for one in results.checks),
        scenarios=tuple(replace(one, run_folder=place(one.run_folder)) for one in results.scenarios),
    )


def place_in_run(place: str, run_folder: str) -> str:
    """A place from the folder of the run on, if it lies there: who reads a report has no use for the whole path."""
    path = Path(place)
    return str(path.relative_to(run_folder)) if run_folder and path.is_relative_to(run_folder) else place


def found_in(header: Header, file: Path) -> Header:
    """The header of a file that was read, with the whole path of the run folder."""
    return replace(header, run_folder=_whole(header.run_folder, file.absolute().parent))


def found_check(check: Check, run_folder: str) -> Check:
    """A check of a file that was read, with whole paths of its evidence."""
    run = Path(run_folder)
    return replace(check, evidence=_placed(check.evidence, lambda place: _whole(place, run)))


def found_scenario(scenario: ScenarioRun, run_folder: str) -> ScenarioRun:
    """A scenario of a file that was read, with the whole path of its folder."""
    return replace(scenario, run_folder=_whole(scenario.run_folder, Path(run_folder)))


def _placed(evidence: Evidence, place: Callable[[str], str]) -> Evidence:
    """Evidence with other places."""
    return replace(evidence, run_folder=place(evidence.run_folder), transcript=place(evidence.transcript))


def _relative(place: str, folder: Path, scrubber: Scrubber) -> str:
    path = Path(place)
    if not place or not path.is_relative_to(folder):
        return scrubber.text(place)
    return str(path.relative_to(folder))


def _whole(place: str, folder: Path) -> str:
    if not place:
        return ""
    path = Path(place)
    if path.parts[:1] == ("~",):
        path = path.expanduser()
    # Also right for an absolute path: what stands before it is dropped.
    return str(folder / path)
