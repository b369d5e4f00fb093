"""Conversations on disk: a file each, one message a line, each written when it joins."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Self, cast

import msgspec

from checkrein.conformance.reference.model import Message

#: Where they are, below HOME.
FOLDER = ".reference-agent/sessions"

#: What stands for the result of a call that has none.
ABORTED_RUNNING = "The call was aborted while it ran: the user interrupted the turn."
ABORTED_BEFORE = "The call was not run: the user interrupted the turn before it began."
LOST = "The call was aborted: the agent's process ended while it ran."
INTERRUPTED = "[The user interrupted the turn here.]"

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NoSuchSession(Exception):
    """Raised when there is no conversation of that id."""


class Session:
    """One conversation.

    Attributes:
        id: a UUID; the name of its file.
        messages: as the model is to see them, without the instructions.
    """

    def __init__(self, session_id: str, folder: Path) -> None:
        self.id = session_id
        self.messages: list[Message] = []
        self._path = folder / f"{session_id}.jsonl"

    @classmethod
    def new(cls, home: Path) -> Self:
        """Begin a conversation."""
        folder = home / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        session = cls(str(uuid.uuid4()), folder)
        session._path.touch(exist_ok=False)
        return session

    @classmethod
    def load(cls, session_id: str, home: Path) -> Self:
        """Take a conversation up again. One that was cut off by the end of a process is mended.

        Raises:
            NoSuchSession: there is none of that id.
        """
        session = cls(session_id, home / FOLDER)
        if not _ID.fullmatch(session_id) or not session._path.is_file():
            raise NoSuchSession(f"there is no session {session_id!r}")
        whole = session._path.read_bytes().rpartition(b"\n")[0]
        os.truncate(session._path, len(whole) + 1 if whole else 0)
        session.messages = [msgspec.json.decode(line, type=Message) for line in whole.split(b"\n") if line]
        for call_id in session.unanswered():
            session.append(result_message(call_id, LOST))
        return session

    @classmethod
    def fork(cls, session_id: str, home: Path) -> Self:
        """Branch off from a conversation, which stays as it is.

        Raises:
            NoSuchSession: there is none of that id.
        """
        original, branch = cls(session_id, home / FOLDER), cls(str(uuid.uuid4()), home / FOLDER)
        if not _ID.fullmatch(session_id) or not original._path.is_file():
            raise NoSuchSession(f"there is no session {session_id!r}")
        shutil.copyfile(original._path, branch._path)
        return cls.load(branch.id, home)

    def append(self, *messages: Message) -> None:
        """Let messages join, on disk first."""
        with self._path.open("ab") as file:
            file.write(b"".join(msgspec.json.encode(message) + b"\n" for message in messages))
        self.messages += messages

    def unanswered(self) -> Iterator[str]:
        """The calls that have no result, in order."""
        answered = {message.get("tool_call_id") for message in self.messages}
        for message in list(self.messages):
            for call in cast("list[dict[str, str]]", message.get("tool_calls") or []):
                if call["id"] not in answered:
                    yield call["id"]


def user_message(text: str) -> Message:
    """What a person says."""
    return {"role": "user", "content": text}


def result_message(call_id: str, text: str) -> Message:
    """The one result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}
