"""The record of a turn is on disk at every moment, and is read back as what it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkrein.adapters.errors import BadRequest, CheckreinError
from checkrein.adapters.native import (
    Asked,
    SteerMoved,
    SteerProgress,
    TextDone,
    ToolFinished,
    ToolStarted,
    ToolStatus,
)
from checkrein.adapters.record import TurnRecord
from checkrein.adapters.record_keeping import read_record
from checkrein.adapters.turn import Turn
from tests.adapters.session.conftest import OpenSession
from tests.adapters.session.echo_harness import EchoHarness, closed, command, question

pytestmark = pytest.mark.anyio


async def on_disk(turn: Turn, folder: Path) -> TurnRecord:
    """The record on disk, which is the record as it stands."""
    (path,) = (folder / "records").iterdir()
    record = read_record(path)
    assert record == await turn.record()
    return record


async def test_everything_is_on_disk_when_it_has_happened(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    async with opened(record_dir=state) as session:
        turn = await session.start("go")
        events = turn.events()

        async def seen(kind: type) -> TurnRecord:
            async for event in events:
                if type(event) is kind:
                    break
            return await on_disk(turn, state)

        record = await on_disk(turn, state)
        assert (record.prompt, record.status, record.ended_at) == ("go", None, None)
        assert record.native_turn_id == f"native-{turn.id}"
        call = command("make")
        await harness.newest.emit(TextDone(text="Building."))
        assert (await seen(TextDone)).text == "Building."
        await harness.newest.emit(ToolStarted(call=call))
        assert (await seen(ToolStarted)).tools[0].status is None
        await harness.newest.emit(Asked(question=question("make")))
        async for approval in turn.approvals():
            assert (await on_disk(turn, state)).approvals[0].resolved_by is None
            await approval.allow()
            break
        assert (await on_disk(turn, state)).approvals[0].resolved_by == "person"
        await harness.newest.emit(
            ToolFinished(call_id=call.call_id, status=ToolStatus.OK, output="made", exit_status=0)
        )
        assert (await seen(ToolFinished)).tools[0].output_tail == "made"
        steer = await turn.steer("faster")
        assert (await on_disk(turn, state)).steers[0].state == "accepted"
        await harness.newest.emit(closed())
        await turn.outcome()
        assert (await on_disk(turn, state)).status == "completed"
        await harness.newest.emit(
            SteerMoved(steer_id=steer.id, progress=SteerProgress.QUEUED, evidence="too late")
        )
        await steer.settled()
        assert (await on_disk(turn, state)).steers[0].state == "queued"
        assert session.record_file(turn).suffix == ".json"


async def test_a_prompt_and_a_steer_are_on_disk_before_the_harness_has_them(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path
) -> None:
    found: list[tuple[str, tuple[str, ...]]] = []
    state = tmp_path / "state"

    def look() -> None:
        (path,) = (state / "records").iterdir()
        record = read_record(path)
        found.append((record.prompt, tuple(steer.state for steer in record.steers)))

    async with opened(record_dir=state) as session:
        harness.before["start_turn"] = harness.before["steer"] = look
        turn = await session.start("go")
        await turn.steer("faster")
    assert found == [("go", ()), ("go", ("sending",))]


async def test_a_record_is_never_there_without_its_beginning(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    named: list[tuple[bool, bytes]] = []
    replace = Path.replace

    def watched(new: Path, name: Path) -> Path:
        named.append((name.exists(), new.read_bytes()))
        return replace(new, name)

    monkeypatch.setattr(Path, "replace", watched)
    async with opened(record_dir=state) as session:
        await session.start("go")
        ((was_there, beginning),) = named
        await harness.newest.emit(closed())
    assert not was_there
    assert b'"prompt":"go"' in beginning
    assert beginning.endswith(b"}\n")


async def test_a_line_that_was_not_written_whole_is_left_out(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path
) -> None:
    async with opened(record_dir=tmp_path / "state") as session:
        turn = await session.start("go")
        path = session.record_file(turn)
        whole = path.read_bytes()
        for kept in range(len(whole.splitlines(keepends=True)[0]), len(whole)):
            path.write_bytes(whole[:kept])
            assert read_record(path).prompt == "go"
        path.write_bytes(whole[:10])
        with pytest.raises(CheckreinError, match="no beginning"):
            read_record(path)
        path.write_bytes(b"{}\n" + whole)
        with pytest.raises(CheckreinError, match="no beginning"):
            read_record(path)


async def test_a_record_that_cannot_be_written_does_not_stop_the_turn(
    opened: OpenSession, harness: EchoHarness, tmp_path: Path
) -> None:
    (tmp_path / "state").write_text("a file, where a directory should be")
    async with opened(record_dir=tmp_path / "state") as session:
        turn = await session.start("go")
        await harness.newest.emit(closed())
        assert (await turn.outcome()).exit_status == 0
        with pytest.raises(CheckreinError, match="cannot be written"):
            session.record_file(turn)


async def test_a_session_that_keeps_no_records_says_so(opened: OpenSession) -> None:
    async with opened() as session:
        turn = await session.start("go")
        with pytest.raises(BadRequest, match="keeps no records"):
            session.record_file(turn)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    for name, data in (("a.json", b"{}"), ("a.jsonl", b"[]\n"), ("b.jsonl", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(CheckreinError, match="no record"):
            read_record(tmp_path / name)
    with pytest.raises(CheckreinError, match="no record"):
        read_record(tmp_path / "missing.json")
