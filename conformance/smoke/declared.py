"""The steps that start nothing: entry point, manifest, program, launch, and what the kit must know."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

from checkrein.adapters.errors import BadRequest, HarnessMissing, UnknownHarness
from checkrein.adapters.interface import Launch, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.manifest import Capability, Support
from checkrein.adapters.policy import Policy
from checkrein.adapters.provision.errors import BadInstallTable
from checkrein.adapters.registry import GROUP, find_harness
from checkrein.conformance.arena import DUMMY_KEY
from checkrein.conformance.file_tree import difference, snapshot
from checkrein.conformance.run_folder import RunFolder
from checkrein.conformance.smoke.steps import DeclaredStep, StepFailed, Trial
from checkrein.conformance.target import find_target, parse_target, requested_binary
from checkrein.scripted_models import DIALECTS

#: What the launch of a session gets of its surroundings.
_SURROUNDINGS = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def entry_point(trial: Trial) -> str:
    """The adapter is found by its name, and loads."""
    try:
        parse_target(trial.request)
    except UnknownHarness as unknown:
        raise StepFailed(
            unknown.what,
            where=f"entry points of the group {GROUP}",
            advice="name it in its package's pyproject.toml, then install the package: pip install --editable FOLDER "
            f"({unknown.advice})",
        ) from unknown
    trial.adapter = find_harness(trial.harness)
    (point,) = {point.value for point in entry_points(group=GROUP) if point.name == trial.harness}
    return point


def manifest(trial: Trial) -> str:
    """The manifest is whole: who, which dialects, and a word for each capability."""
    found = trial.adapter.manifest
    place = trial.file("manifest.toml")
    if found.name != trial.harness:
        raise StepFailed(
            f"the manifest is that of {found.name!r}",
            where=place,
            advice=f"say name = {trial.harness!r}, as the entry point does",
        )
    for field, value in (("title", found.title), ("vendor", found.vendor)):
        if not value:
            raise StepFailed(f"`{field}` is empty", where=place, advice=f"fill in `{field}`")
    strangers = [dialect for dialect in found.dialects if dialect not in DIALECTS]
    if strangers or not found.dialects:
        raise StepFailed(
            f"there is no scripted model for {', '.join(strangers) or 'no dialect'}",
            where=place,
            advice=f"name what the harness speaks with its model: {', '.join(DIALECTS)}",
        )
    missing = [each.value for each in Capability if each not in found.capabilities]
    if missing:
        raise StepFailed(
            f"nothing is said of {', '.join(missing)}",
            where=place,
            advice="say yes, no or unknown of each capability",
        )
    told = {support: [each for each in Capability if found.support(each) is support] for support in Support}
    unknown = ", ".join(each.value for each in told[Support.UNKNOWN])
    return f"{len(told[Support.YES])} yes, {len(told[Support.NO])} no, unknown: {unknown or 'none'}"


def program(trial: Trial) -> str:
    """The program of the harness is there."""
    try:
        binary = requested_binary(parse_target(trial.request))
    except BadInstallTable as missing:
        raise StepFailed(
            "there is no program to run",
            where=missing.where,
            advice=f"name it, {trial.harness}=PATH, or say in an install.toml where npm has it",
        ) from missing
    except HarnessMissing as missing:
        advice = missing.advice or f"checkrein install {trial.harness}"
        raise StepFailed(missing.what, where=missing.where, advice=advice) from missing
    return f"{binary.path}, sha256 {binary.sha256[:12]}…"


def launch(trial: Trial) -> str:
    """The launch is whole and absolute, leaves the workspace alone, and refuses one that holds the configuration."""
    folder = RunFolder(root=trial.runs / "launch")
    folder.prepare()
    spec = _spec(trial, folder.workspace, folder.home)
    before = snapshot(folder.workspace)
    launched = trial.adapter.launch(spec)
    written = [str(change) for change in difference(before, snapshot(folder.workspace), ignore=())]
    faults = [*_faults(launched, spec), *(f"it writes into the workspace: {change}" for change in written)]
    if faults:
        raise StepFailed("; ".join(faults), where=_launch_place(trial), advice="correct the launch")
    home = folder.workspace / "home"
    home.mkdir()
    try:
        trial.adapter.launch(_spec(trial, folder.workspace, home))
    except BadRequest:
        return f"{len(launched.argv)} words, {len(launched.environment)} variables; nothing written in the workspace"
    raise StepFailed(
        "a workspace that holds the harness's HOME is not refused: its files would be the user's own configuration",
        where=_launch_place(trial),
        advice="raise BadRequest when HOME, or the configuration directory, lies in spec.cwd",
    )


def _launch_place(trial: Trial) -> str:
    return trial.file("launch.py")


def _spec(trial: Trial, workspace: Path, home: Path) -> SessionSpec:
    asks = not trial.adapter.manifest.lacks(Capability.APPROVALS)
    return SessionSpec(
        binary=requested_binary(parse_target(trial.request)),
        cwd=workspace.resolve(),
        policy=Policy.ASK if asks else Policy.AUTO,
        origin=Origin.NEW,
        session_id=str(uuid.uuid4()),
        home=home.resolve(),
        # Nobody listens there, and nothing is started.
        endpoint=ModelEndpoint(
            base_url="http://127.0.0.1:9", api_key=DUMMY_KEY, dialect=trial.adapter.manifest.dialects[0]
        ),
        environment=_SURROUNDINGS,
    )


def _faults(launched: Launch, spec: SessionSpec) -> list[str]:
    argv, environment = launched.argv, launched.environment
    faults: list[str] = []
    if not argv or not Path(argv[0]).is_absolute():
        faults.append(f"the command line does not begin with an absolute path: {' '.join(argv[:3])}")
    if not launched.cwd.is_absolute() or not launched.cwd.is_dir():
        faults.append(f"the process's directory is no absolute path of one that exists: {launched.cwd}")
    if any(DUMMY_KEY in word for word in argv):
        faults.append("the key is on the command line, where every user of the machine sees it")
    return faults + _missing(environment, spec)


def _missing(environment: Mapping[str, str], spec: SessionSpec) -> list[str]:
    faults: list[str] = []
    if environment.get("HOME") != str(spec.home):
        faults.append(f"HOME is {environment.get('HOME')!r} and not that of the spec")
    if lost := sorted(_SURROUNDINGS.keys() - environment.keys()):
        faults.append(f"the environment of the spec is not passed on: {', '.join(lost)} is missing")
    return faults


def kit(trial: Trial) -> str:
    """`kit.py` tells the scripted model which dialect to speak, and how the harness's shell is called."""
    trial.target = find_target(trial.request)
    profile = trial.target.profile
    if profile.dialect not in trial.adapter.manifest.dialects:
        raise StepFailed(
            f"the profile's dialect {profile.dialect!r} is none of the manifest's",
            where=trial.file("kit.py"),
            advice="name one of them",
        )
    call = profile.toolset.shell("true")
    facts = trial.target.kit
    open_facts = [
        name
        for name, fact in (
            ("widening", facts.widening),
            ("wire", facts.wire),
            ("interrupt_signs", facts.interrupt_signs),
            ("acknowledges_steer", facts.acknowledges_steer),
            ("background_call", facts.background_call),
            ("brief_call", facts.brief_call),
            ("asked_kinds", facts.asked_kinds),
            ("unknown_prompt", facts.unknown_prompt),
        )
        if fact is None
    ]
    later = f"; not told yet: {', '.join(open_facts)}" if open_facts else ""
    return f"speaks {profile.dialect}, its shell is the tool {call.name!r}{later}"


DECLARED_STEPS = (
    DeclaredStep(name="entry point", act=entry_point),
    DeclaredStep(name="manifest", act=manifest),
    DeclaredStep(name="program", act=program),
    DeclaredStep(name="launch", act=launch),
    DeclaredStep(name="kit", act=kit),
)
