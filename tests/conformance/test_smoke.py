"""`checkrein smoke`: each step goes well on the fake harness, and finds what is wrong with one that is broken."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from checkrein.adapters.errors import NotFilledIn
from checkrein.adapters.interface import Decision, DecisionKind, Launch, SessionSpec
from checkrein.adapters.manifest import Capability, Manifest, Support
from checkrein.adapters.native import Asked, NativeEvent, Question, TextDone
from checkrein.adapters.policy import Policy
from checkrein.conformance.smoke import DECLARED_STEPS, LIVE_STEPS, Failed, Passed, Trial, run_live, smoke
from tests.conformance.conftest import PROGRAM
from tests.conformance.fake_harness import kit as fake_kit
from tests.conformance.fake_harness.adapter import FLAW_VARIABLE, FakeAdapter, FakeConnection

FAKE = f"fake@1.0={PROGRAM}"

#: What breaks the fake harness's adapter in one way.
Break = Callable[[pytest.MonkeyPatch], None]

honest_launch = FakeAdapter.launch
honest_decode = FakeConnection.decode
honest_manifest = FakeAdapter().manifest


def declared(request: str, runs: Path) -> tuple[Trial, Passed | Failed]:
    """The trial after its declared steps, and how the last of them that was tried went."""
    for result in smoke(request, runs):
        if isinstance(result, Failed) or result.step == DECLARED_STEPS[-1].name:
            trial = Trial(request, runs / "live")
            if isinstance(result, Passed):
                for step in DECLARED_STEPS:
                    step.act(trial)
            return trial, result
    raise AssertionError("no step was tried")


def live(step: str, trial: Trial) -> Passed | Failed:
    return run_live(next(each for each in LIVE_STEPS if each.name == step), trial)


def declaring(changed: Manifest) -> Break:
    return lambda monkeypatch: monkeypatch.setattr(FakeAdapter, "manifest", changed)


def launched(change: Callable[[Launch, SessionSpec], Launch]) -> Break:
    def launch(self: FakeAdapter, spec: SessionSpec) -> Launch:
        return change(honest_launch(self, spec), spec)

    return lambda monkeypatch: monkeypatch.setattr(FakeAdapter, "launch", launch)


def decoded(change: Callable[[NativeEvent], Iterable[NativeEvent]]) -> Break:
    def decode(self: FakeConnection, lines: list[bytes]) -> list[NativeEvent]:
        return [new for event in honest_decode(self, lines) for new in change(event)]

    return lambda monkeypatch: monkeypatch.setattr(FakeConnection, "decode", decode)


def test_every_step_goes_well_on_an_honest_adapter(fake_path: str, tmp_path: Path) -> None:
    results = list(smoke(FAKE, tmp_path))

    assert [result for result in results if isinstance(result, Failed)] == []
    assert [result.step for result in results] == [step.name for step in (*DECLARED_STEPS, *LIVE_STEPS)]
    seen = {result.step: result.seen for result in results if isinstance(result, Passed)}
    assert seen["manifest"].endswith("unknown: usage")
    assert "usage unknown" in seen["prompt"]
    assert seen["steer"] == "delivered, once in request 2"
    assert "stopped by harness" in seen["interrupt"]


def write_into_the_workspace(launch: Launch, spec: SessionSpec) -> Launch:
    (spec.cwd / "settings.json").write_text("{}")
    return launch


@pytest.mark.parametrize(
    ("broken", "step", "words", "file"),
    [
        (declaring(replace(honest_manifest, name="other")), "manifest", "'other'", "manifest.toml"),
        (declaring(replace(honest_manifest, vendor="")), "manifest", "`vendor` is empty", "manifest.toml"),
        (
            declaring(replace(honest_manifest, dialects=("smoke-signals",))),
            "manifest",
            "smoke-signals",
            "manifest.toml",
        ),
        (
            declaring(replace(honest_manifest, capabilities={Capability.STEER: Support.YES})),
            "manifest",
            "interrupt",
            "manifest.toml",
        ),
        (launched(write_into_the_workspace), "launch", "settings.json", "launch.py"),
        (
            launched(lambda launch, _: replace(launch, argv=("fake",))),
            "launch",
            "begin with an absolute path: fake",
            "launch.py",
        ),
        (
            launched(lambda launch, _: replace(launch, cwd=Path())),
            "launch",
            "no absolute path",
            "launch.py",
        ),
        (launched(lambda launch, _: replace(launch, environment={})), "launch", "HOME is None", "launch.py"),
        (
            launched(
                lambda launch, spec: (
                    replace(launch, argv=(*launch.argv, spec.endpoint.api_key)) if spec.endpoint else launch
                )
            ),
            "launch",
            "the key is on the command line",
            "launch.py",
        ),
    ],
)
def test_a_declared_step_finds_what_is_wrong(
    broken: Break,
    step: str,
    words: str,
    file: str,
    fake_path: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)

    _, result = declared(FAKE, tmp_path)

    assert isinstance(result, Failed)
    assert result.step == step
    assert words in result.what
    assert result.where.endswith(file)
    assert result.advice


def test_a_launch_that_takes_a_workspace_with_the_configuration_in_it_is_found(
    fake_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses_nothing(spec: SessionSpec, places: object) -> None: ...

    monkeypatch.setattr("tests.conformance.fake_harness.adapter.refuse_inside_workspace", refuses_nothing)

    _, result = declared(FAKE, tmp_path)

    assert isinstance(result, Failed)
    assert (result.step, "HOME is not refused" in result.what) == ("launch", True)


def test_an_adapter_without_kit_facts_is_told_so(
    fake_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(fake_kit, "KIT")

    _, result = declared(FAKE, tmp_path)

    assert isinstance(result, Failed)
    assert (result.step, result.what) == ("kit", "KIT is no KitFacts")


def never(kind: type) -> Break:
    return decoded(lambda event: () if isinstance(event, kind) else (event,))


def silent(method: str) -> Break:
    """A method of the connection that sends nothing."""

    async def nothing(*_: object) -> None: ...

    return lambda monkeypatch: monkeypatch.setattr(FakeConnection, method, nothing)


def not_filled_in(method: str) -> Break:
    async def missing(*_: object) -> None:
        raise NotFilledIn(method, "connection.py", todo=f"write {method}")

    return lambda monkeypatch: monkeypatch.setattr(FakeConnection, method, missing)


def renamed_in_questions(event: NativeEvent) -> Iterable[NativeEvent]:
    if isinstance(event, Asked):
        call = replace(event.question.call, command="something else")
        event = Asked(question=replace(event.question, call=call))
    return (event,)


def allowed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = FakeConnection.answer

    async def answer(self: FakeConnection, question: Question, _: Decision) -> None:
        await honest(self, question, ALLOW)

    monkeypatch.setattr(FakeConnection, "answer", answer)


def flaw(name: str) -> Break:
    return lambda monkeypatch: monkeypatch.setenv(FLAW_VARIABLE, name)


def never_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    launched(lambda launch, _: replace(launch, argv=(*launch.argv[:3], Policy.AUTO.value, *launch.argv[4:])))(
        monkeypatch
    )


ALLOW = Decision(kind=DecisionKind.ALLOW)


@pytest.mark.parametrize(
    ("step", "broken", "words"),
    [
        ("policies", not_filled_in("open"), "`open` is not filled in yet"),
        ("prompt", not_filled_in("start_turn"), "`start_turn` is not filled in yet"),
        ("prompt", never(TextDone), "expected completed with 'It works.'"),
        ("prompt", flaw("dies"), "it ended failed"),
        ("prompt", flaw("asks-once-more"), "unscripted_request"),
        ("question", not_filled_in("answer"), "`answer` is not filled in yet"),
        ("question", never_asking, "the turn ended without a question"),
        ("question", decoded(renamed_in_questions), "not the whole command"),
        ("question", allowed_all_the_same, "the denied call has run"),
        ("steer", not_filled_in("steer"), "`steer` is not filled in yet"),
        ("steer", silent("steer"), "0 time(s)"),
        ("interrupt", not_filled_in("interrupt"), "`interrupt` is not filled in yet"),
        ("interrupt", flaw("deaf"), "it took the kill ladder"),
        ("close", not_filled_in("start_turn"), "`start_turn` is not filled in yet"),
    ],
)
def test_a_live_step_finds_what_is_wrong(
    step: str, broken: Break, words: str, fake_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, _ = declared(FAKE, tmp_path)
    broken(monkeypatch)

    result = live(step, trial)

    assert isinstance(result, Failed)
    assert words in result.what
    assert result.where
    assert result.advice
    assert Path(result.kept, "error.txt").exists()


def test_a_fault_of_the_adapter_is_shown_with_its_place(
    fake_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, _ = declared(FAKE, tmp_path)

    async def slip(self: FakeConnection, turn_id: str, prompt: str) -> None:
        raise KeyError("turn")

    monkeypatch.setattr(FakeConnection, "start_turn", slip)

    result = live("prompt", trial)

    assert isinstance(result, Failed)
    assert result.what == "KeyError: 'turn'"
    assert "test_smoke.py" in result.where


def test_what_is_declared_as_no_is_not_tried(
    fake_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacks = (Capability.APPROVALS, Capability.STEER)
    declaring(
        replace(
            honest_manifest, capabilities={**honest_manifest.capabilities, **dict.fromkeys(lacks, Support.NO)}
        )
    )(monkeypatch)
    trial, _ = declared(FAKE, tmp_path)

    seen = [live(step, trial) for step in ("question", "steer")]

    assert [one.seen for one in seen if isinstance(one, Passed)] == [
        "the manifest says approvals = no: nothing to try",
        "the manifest says steer = no: nothing to try",
    ]


def checkrein_smoke(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "checkrein.conformance", "smoke", *arguments],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "200", "CHECKREIN_CACHE": str(cwd / "cache")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ("nobody", ("entry point  missing  there is no harness 'nobody'", "pyproject.toml")),
        ("fake", ("program      missing  there is no program to run", "fake=PATH")),
        ("fake=missing.py", ("entry point  missing  there is no such file",)),
    ],
)
def test_the_command_stops_at_the_first_thing_that_is_missing(
    request_: str, words: tuple[str, ...], fake_path: str, tmp_path: Path
) -> None:
    done = checkrein_smoke(request_, cwd=tmp_path)

    assert done.returncode == 1
    for word in (*words, "to do: "):
        assert word in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_run_folder_that_cannot_be_made_is_one_clear_error(fake_path: str, tmp_path: Path) -> None:
    done = checkrein_smoke(FAKE, "--run-dir", "/proc/nowhere", cwd=tmp_path)

    assert done.returncode == 2
    assert "name another folder with --run-dir" in done.stderr
