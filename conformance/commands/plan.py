"""`checkrein plan`: the jobs of a run in parts, as JSON for the matrix of any CI."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from checkrein.adapters.provision import pinned_versions
from checkrein.conformance.contract_loading import load_contract
from checkrein.conformance.job_plan import plan_jobs
from checkrein.conformance.target import parse_target


def plan(
    harnesses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HARNESS[@VERSION]]...",
            help="Without any, every harness with a pinned version; without a version, the pinned one.",
        ),
    ] = None,
    groups: Annotated[
        int | None,
        typer.Option("--groups", min=1, help="Jobs per harness; without it, one per area of the contract."),
    ] = None,
) -> None:
    """Print the jobs of a run in parts, as JSON: harness, version, group of clauses, arguments of `checkrein run`."""
    pinned = pinned_versions()
    requests = [parse_target(text) for text in (harnesses or list(pinned))]
    spelled_out = [
        parse_target(f"{request.harness}@{pinned[request.harness]}")
        if request.version is None and request.harness in pinned
        else request
        for request in requests
    ]
    jobs = plan_jobs(spelled_out, load_contract(), groups=groups)
    typer.echo(json.dumps({"include": [job.as_json() for job in jobs]}, ensure_ascii=False))
