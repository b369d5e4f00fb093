"""What an agent does where ACP leaves the choice, as data: `acp.toml` in the package that brings the agent."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files

import msgspec

from checkrein.adapters.errors import BadRequest
from checkrein.adapters.policy import Policy


class PromptWhileRunning(StrEnum):
    """What an agent does with a `session/prompt` while one runs. All four were seen; this adapter sends none."""

    STEER = "steer"
    QUEUE = "queue"
    REPLACE = "replace"
    REJECT = "reject"


class Deny(StrEnum):
    """What an agent does when a call is denied."""

    GOES_ON = "goes_on"
    ENDS_TURN = "ends_turn"


class UsageCount(StrEnum):
    """What the `usage` in the answer to a prompt counts. The schema says the session; agents differ."""

    TURN = "turn"
    SESSION = "session"
    #: it is left alone
    UNKNOWN = "unknown"


class PolicyDeclaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the agent is put under a policy of ours.

    Args:
        arguments: that follow the program.
        mode: the session mode that must be in force; None where the agent has no modes, and so no echo of the policy.
        set_mode: ask for that mode by `session/set_mode` once the conversation is open.
    """

    arguments: tuple[str, ...] = ()
    mode: str | None = None
    set_mode: bool = False


class AcpDeclaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The declaration of one agent.

    Texts of `arguments`, `memory_arguments` and `environment` may hold `{base_url}`, `{api_key}`, `{model}`,
    `{dialect}`, `{retries}`, `{silence_seconds}`, `{home}`, `{cwd}` and `{memory_file}`. A variable whose place holder
    has no value in a session is left out.

    Args:
        prompt_while_running: see there.
        deny: see there.
        policies: by name of ours. A policy that is not named cannot be asked for.
        arguments: that follow the program, whatever the policy.
        memory_arguments: that tell it the project's memory, a file.
        environment: variables, by name.
        steer_shown: it sends a `user_message_chunk` when a steer joins the conversation. Where it does not, its word
            that a steer was injected is all there is.
        usage: see there.
        retry_notification: the method of the notification, an extension of the agent's own, that says that a model
            request is tried again and that what it had begun to say is void; its `message` says why. None where it
            does not tell.
        unknown_session: texts by one of which the answer to `session/load` says that there is no such session, besides
            the code of ACP for it.
    """

    prompt_while_running: PromptWhileRunning
    deny: Deny
    policies: dict[Policy, PolicyDeclaration]
    arguments: tuple[str, ...] = ()
    memory_arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    steer_shown: bool = False
    usage: UsageCount = UsageCount.UNKNOWN
    retry_notification: str | None = None
    unknown_session: tuple[str, ...] = ()


def load_declaration(package: str) -> AcpDeclaration:
    """Read `acp.toml` of the package that brings an agent.

    Raises:
        BadRequest: the file is missing, or does not hold what it must; names file and field.
    """
    source = files(package).joinpath("acp.toml")
    try:
        return read_declaration(tomllib.loads(source.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise BadRequest(
            "the package does not say what its agent does", where=str(source), advice="add an acp.toml"
        ) from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as fault:
        raise BadRequest(
            f"the declaration of the agent cannot be used: {fault}",
            where=str(source),
            advice="correct that field; docs/harnesses/acp.md describes them",
        ) from fault


def read_declaration(data: Mapping[str, object]) -> AcpDeclaration:
    """The declaration that the content of an `acp.toml` holds.

    Raises:
        msgspec.ValidationError: it holds none.
    """
    return msgspec.convert(data, AcpDeclaration)
