"""An approval shows where the call really goes when a link leads elsewhere."""

from __future__ import annotations

from pathlib import Path

from checkrein.adapters import Approval, Turn
from checkrein.adapters.record import ApprovalRecord
from checkrein.conformance.scenario import Arena, scenario
from checkrein.conformance.scenarios.moves import finish, within
from checkrein.scripted_models import edit_file, read_file, say, shell, write_file


@scenario("approve.shown.real-target")
async def test_an_approval_of_a_call_through_a_link(arena: Arena) -> None:
    target, folder = arena.outside / "target.txt", arena.outside / "folder"
    target.write_text("first line\n")
    folder.mkdir()
    (arena.workspace / "link.txt").symlink_to(target)
    (arena.workspace / "linked").symlink_to(folder, target_is_directory=True)
    given = {
        "call_read": arena.workspace / "link.txt",
        "call_edit": arena.workspace / "link.txt",
        "call_write": arena.workspace / "linked" / "new.txt",
    }
    real = {"call_read": target, "call_edit": target, "call_write": folder / "new.txt"}
    arena.script.main([read_file(str(given["call_read"]), id="call_read")])
    arena.script.main([edit_file(str(given["call_edit"]), "first line\n", "second line\n", id="call_edit")])
    arena.script.main([write_file(str(given["call_write"]), "new\n", id="call_write")])
    arena.script.main([say("Left.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("read it, then change it")
        asked = await _allow_reading_alone(arena, turn)
        records = {record.call_id: record for record in (await turn.record()).approvals}
    faults: list[str] = []
    for call_id, place in given.items():
        if call_id in asked:
            faults += _faults(asked[call_id], records[call_id], place, real[call_id])
        elif call_id != "call_edit":
            # Claude Code 2.1.332 refuses by itself to write a file through a link to it, and does not ask.
            faults.append(f"{call_id} was not asked")
    if target.read_text() != "first line\n":
        faults.append("the file behind the link was changed after a deny")
    if list(folder.iterdir()):
        faults.append("a file was made behind the link after a deny")
    arena.judge(
        "approve.shown.real-target",
        holds=not faults,
        expected="asked about reading and changing through a link to a file and a link to a folder; each time the path "
        "given, the real one beside it, and that it is outside the workspace, also in the record",
        observed="; ".join(faults)
        or " | ".join(f"{call_id}: {approval.shown[-160:]!r}" for call_id, approval in asked.items()),
        enforced_by="adapter",
    )


async def _allow_reading_alone(arena: Arena, turn: Turn) -> dict[str, Approval]:
    """Answer all that is asked; the approvals by call."""
    asked: dict[str, Approval] = {}

    async def answer() -> None:
        async for approval in turn.approvals():
            asked[approval.call.call_id] = approval
            await (approval.allow() if approval.call.call_id == "call_read" else approval.deny())

    await within(arena, "the end of a turn whose changes are denied", answer())
    await finish(arena, turn)
    return asked


def _faults(approval: Approval, record: ApprovalRecord, given: Path, real: Path) -> list[str]:
    faults = [
        f"{record.call_id} does not show {text}"
        for text in (str(given), f"leads to {real} (outside the workspace)")
        if text not in approval.shown
    ]
    if str(real) not in record.real_paths or str(real) not in record.outside:
        faults.append(
            f"the record of {record.call_id} has real paths {record.real_paths}, outside {record.outside}"
        )
    return faults


@scenario("approve.link-moved.asks-again")
async def test_a_grant_does_not_follow_a_link_that_is_laid_later(arena: Arena) -> None:
    path = arena.workspace / "folder" / "notes.txt"
    path.parent.mkdir()
    for call_id in ("call_first", "call_again"):
        arena.script.main([write_file(str(path), "inside\n", id=call_id)])
    arena.script.main([shell(f"rm -r folder && ln -s {arena.outside} folder", id="call_link")])
    arena.script.main([write_file(str(path), "outside\n", id="call_moved")])
    arena.script.main([say("Left.")])
    async with arena.session(policy="ask") as session:
        turn = await session.start("write it twice, then elsewhere")
        by_person: list[str] = []

        async def answer() -> None:
            async for approval in turn.approvals():
                by_person.append(approval.call.call_id)
                match approval.call.call_id:
                    case "call_first":
                        await approval.allow_always()
                    case "call_link":
                        await approval.allow()
                    case _:
                        await approval.deny()

        await within(arena, "the end of a turn whose last edit is denied", answer())
        await finish(arena, turn)
    made = [entry.name for entry in arena.outside.iterdir()]
    arena.judge(
        "approve.link-moved.asks-again",
        holds=by_person == ["call_first", "call_link", "call_moved"] and not made,
        expected="asked about the first edit, not about the same one again, and again once a link leads it elsewhere; "
        "nothing is made there after a deny",
        observed=f"asked: {', '.join(by_person)}; made outside: {made or 'nothing'}",
        enforced_by="adapter",
    )
