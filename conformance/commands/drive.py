"""`checkrein drive`: one turn of a harness in this terminal."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer

from checkrein.adapters import ModelEndpoint
from checkrein.adapters.driver import DriveOrder, drive
from checkrein.adapters.driver.keyboard import Keyboard
from checkrein.adapters.errors import BadRequest
from checkrein.adapters.policy import parse_policy
from checkrein.adapters.record import state_directory
from checkrein.conformance.target import parse_target, requested_binary

KEY_VARIABLE = "CHECKREIN_MODEL_API_KEY"


def drive_command(
    harness: Annotated[
        str,
        typer.Argument(
            metavar="HARNESS[@VERSION]",
            help="An installed harness. NAME=PATH runs an executable of your own.",
        ),
    ],
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What the agent is to do.")],
    cwd: Annotated[Path, typer.Option("--cwd", metavar="DIR", help="The workspace.")] = Path(),
    policy: Annotated[
        str, typer.Option("--policy", help="Who decides over calls: ask (you, here) or auto (nobody).")
    ] = "ask",
    resume: Annotated[
        str | None, typer.Option("--resume", metavar="SESSION", help="Continue this conversation.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option("--home", metavar="DIR", help="HOME of the harness, instead of your own.")
    ] = None,
    model_base_url: Annotated[
        str | None,
        typer.Option(
            "--model-base-url",
            metavar="URL",
            help=f"Where the model's API is, without its path; the key is read from {KEY_VARIABLE}.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="The model's name at that URL.")] = None,
    project_memory: Annotated[
        bool,
        typer.Option(
            "--project-memory", help="Tell the model what CLAUDE.md or AGENTS.md of the workspace says."
        ),
    ] = False,
) -> None:
    """Run one turn and show what the agent does. Ctrl-c interrupts it and exits with 130."""
    request = parse_target(harness)
    order = DriveOrder(
        harness=request.harness,
        binary=requested_binary(request),
        cwd=cwd,
        prompt=prompt,
        policy=parse_policy(policy),
        state=state_directory(),
        resume=resume,
        home=home,
        endpoint=_endpoint(model_base_url, model),
        project_memory=project_memory,
    )
    keyboard = Keyboard.at(sys.stdin)

    async def run() -> int:
        return await drive(order, out=sys.stdout, keyboard=keyboard)

    raise typer.Exit(anyio.run(run))


def _endpoint(base_url: str | None, model: str | None) -> ModelEndpoint | None:
    if base_url is None:
        if model is not None:
            raise BadRequest(
                "--model needs --model-base-url", where="--model", advice="give both, or neither"
            )
        return None
    key = os.environ.get(KEY_VARIABLE)
    if not key:
        raise BadRequest(
            "there is no key for the model",
            where=KEY_VARIABLE,
            advice=f"set {KEY_VARIABLE} in the environment",
        )
    return ModelEndpoint(base_url=base_url.rstrip("/"), api_key=key, model=model)
