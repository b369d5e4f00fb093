"""`open_session`: from a harness's name to a running conversation."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from checkrein.adapters.acts import Act, ActKind, ActTap, unseen
from checkrein.adapters.approvals import approval_seconds_from_environment
from checkrein.adapters.errors import BadRequest, Unsupported
from checkrein.adapters.interface import HarnessAdapter, HarnessBinary, ModelEndpoint, Origin, SessionSpec
from checkrein.adapters.interrupting import LadderTimes
from checkrein.adapters.manifest import Capability
from checkrein.adapters.policy import Policy, parse_policy
from checkrein.adapters.project_memory import project_memory as memory_of
from checkrein.adapters.provision import launcher_of, locate_harness
from checkrein.adapters.registry import find_harness
from checkrein.adapters.relay import SessionRelay, reaching_loopback
from checkrein.adapters.session import Session
from checkrein.adapters.silence import STALL_SECONDS
from checkrein.adapters.transport import Tap, clean_environment
from checkrein.adapters.turn import TurnSettings


def installed_binary(harness: str, version: str | None = None) -> HarnessBinary:
    """The binary of a harness that `checkrein install` put into the cache.

    Args:
        harness: its name.
        version: an exact version; None for the pinned one.

    Raises:
        HarnessMissing: it is not installed.
        ProvisionError: it is, but what has to run it is not there.
    """
    found = locate_harness(harness if version is None else f"{harness}@{version}")
    return HarnessBinary(
        path=found.binary,
        version=found.version,
        sha256=found.binary_sha256,
        launcher=launcher_of(found.binary, harness=harness),
    )


@asynccontextmanager
async def open_session(
    harness: str | HarnessAdapter,
    *,
    cwd: str | os.PathLike[str],
    policy: str | Policy = Policy.ASK,
    resume: str | None = None,
    fork: str | None = None,
    binary: HarnessBinary | None = None,
    home: Path | None = None,
    endpoint: ModelEndpoint | None = None,
    environment: Mapping[str, str] | None = None,
    project_memory: bool = False,
    approval_seconds: float | None = None,
    call_seconds: float = 20.0,
    ladder: LadderTimes | None = None,
    stall_seconds: float = STALL_SECONDS,
    record_dir: Path | None = None,
    tap: Tap | None = None,
    acts: ActTap = unseen,
) -> AsyncGenerator[Session]:
    """Open a conversation with a harness; at the end of the block nothing of it is left running.

    Args:
        harness: the name of an installed adapter, or an adapter.
        cwd: the workspace.
        policy: who decides over calls; `ask` grants nothing by itself.
        resume: id of the conversation to continue.
        fork: id of the conversation to branch off from; the original stays as it is.
        binary: what to run; None takes the pinned version from the cache.
        home: HOME of the harness, with its configuration in it; None leaves the user's own.
        endpoint: where its model is, and the key; the key stays in this process (see `relay/`). None leaves the
            harness's own endpoint and login.
        environment: the environment to clean and pass on; None takes that of this process.
        project_memory: tell the model what the workspace's file for agents says (`CLAUDE.md`, `AGENTS.md`); nothing
            where there is none. Without it no such file is read, except with the policy `auto`, which trusts the
            workspace: then the harness reads them by itself, in any case.
        approval_seconds: how long an approval waits for a person before it counts as denied; None reads
            `CHECKREIN_APPROVAL_TIMEOUT_SECONDS`, 600 without it.
        call_seconds: how long the harness may take to answer one call.
        ladder: times of the interrupt ladder.
        stall_seconds: how long the harness may say nothing, while no tool runs and no question stands, before the turn
            is stopped and has failed.
        record_dir: where the records of the turns are kept from the prompt on, in its folder `records`; None keeps
            none.
        tap: sees every line to and from the harness.
        acts: sees what is asked of the session, its turns and approvals, before anything of it is sent.

    Raises:
        BadRequest: an argument can never work.
        UnknownHarness: there is no adapter of that name.
        HarnessMissing: its binary is not installed.
        Unsupported: the harness cannot do what was asked; nothing has run.
        SessionNotFound: there is no conversation of that id.
        PolicyNotEffective: the harness runs under another policy; nothing was sent to a model.
    """
    adapter = find_harness(harness) if isinstance(harness, str) else harness
    _check_dialect(adapter, endpoint)
    origin, session_id = _origin(adapter, resume, fork)
    spec = SessionSpec(
        binary=binary if binary is not None else installed_binary(adapter.manifest.name),
        cwd=_workspace(cwd),
        policy=_policy(adapter, policy),
        origin=origin,
        session_id=session_id,
        home=home,
        endpoint=endpoint,
        environment=_environment(
            adapter,
            os.environ if environment is None else environment,
            own_home=home is None,
            own_login=home is None and endpoint is None,
        ),
        call_seconds=call_seconds,
    )
    settings = TurnSettings(
        policy=spec.policy,
        approval_seconds=approval_seconds_from_environment()
        if approval_seconds is None
        else approval_seconds,
        ladder=ladder or LadderTimes(),
        stall_seconds=stall_seconds,
        manifest=adapter.manifest,
        acts=acts,
    )
    relay = None if endpoint is None else SessionRelay(endpoint)
    failure: BaseException | None = None
    names = _memory_files(adapter, spec.policy) if project_memory else ()
    async with memory_of(spec.cwd, names) as memory, anyio.create_task_group() as tasks:
        spec = replace(spec, memory=memory)
        if relay is not None:
            spec = replace(
                spec, endpoint=await relay.start(tasks), environment=reaching_loopback(spec.environment)
            )
        session = Session(
            adapter=adapter, spec=spec, settings=settings, tasks=tasks, tap=tap, record_dir=record_dir
        )
        # What the body raises is raised again outside the task group, which would wrap it in a group.
        try:
            acts(Act(kind=ActKind.OPEN, about=_how(spec)))
            await session.open()
            yield session
        except Exception as error:
            failure = error
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await session.close()
                except Exception as error:
                    failure = failure or error
            if relay is not None:
                relay.stop()
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def _check_dialect(adapter: HarnessAdapter, endpoint: ModelEndpoint | None) -> None:
    spoken = adapter.manifest.dialects
    if endpoint is not None and endpoint.dialect is not None and endpoint.dialect not in spoken:
        raise BadRequest(
            f"{adapter.manifest.title} does not speak {endpoint.dialect!r}",
            where="endpoint.dialect",
            advice=f"it speaks {', '.join(spoken)}",
        )


def _origin(adapter: HarnessAdapter, resume: str | None, fork: str | None) -> tuple[Origin, str]:
    match resume, fork:
        case None, None:
            return Origin.NEW, str(uuid.uuid4())
        case str() as session_id, None:
            adapter.manifest.demand(Capability.RESUME)
            return Origin.RESUME, session_id
        case None, str() as session_id:
            adapter.manifest.demand(Capability.FORK)
            return Origin.FORK, session_id
        case _:
            raise BadRequest(
                "a session is either resumed or forked", where="resume, fork", advice="give one of them"
            )


def _how(spec: SessionSpec) -> str:
    """How a session is opened, in words."""
    policy = f"policy {spec.policy.value}"
    match spec.origin:
        case Origin.NEW:
            return policy
        case Origin.RESUME:
            return f"{policy}, resuming {spec.session_id}"
        case Origin.FORK:
            return f"{policy}, a fork of {spec.session_id}"


def _environment(
    adapter: HarnessAdapter, surrounding: Mapping[str, str], *, own_home: bool, own_login: bool
) -> dict[str, str]:
    """What the harness gets of the surrounding environment.

    Args:
        own_home: it keeps the user's home; else nothing names the user's other directories (`XDG_*`) to it either.
        own_login: it also gets the variables that name the user's configuration and login.
    """
    names = adapter.manifest.user_variables if own_login else ()
    cleaned = clean_environment(
        surrounding, extra={name: surrounding[name] for name in names if name in surrounding}
    )
    return {name: value for name, value in cleaned.items() if own_home or not name.startswith("XDG_")}


def _policy(adapter: HarnessAdapter, policy: str | Policy) -> Policy:
    parsed = parse_policy(policy)
    if parsed is not Policy.AUTO:
        adapter.manifest.demand(Capability.APPROVALS)
    return parsed


def _memory_files(adapter: HarnessAdapter, policy: Policy) -> tuple[str, ...]:
    manifest = adapter.manifest
    if not manifest.memory_files:
        raise Unsupported(f"{manifest.title} cannot be told the project's memory", where=manifest.name)
    return () if policy is Policy.AUTO else manifest.memory_files


def _workspace(cwd: str | os.PathLike[str]) -> Path:
    path = Path(cwd)
    if not path.is_dir():
        raise BadRequest("the workspace is no directory", where=str(path), advice="give one that exists")
    return path.resolve()
