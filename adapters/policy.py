"""Policies: who decides when the harness asks."""

from __future__ import annotations

from enum import StrEnum

from checkrein.adapters.errors import BadRequest, Unsupported


class Policy(StrEnum):
    """Who decides over a call that the harness wants to make."""

    AUTO = "auto"
    ASK = "ask"
    DENY_RISKY = "deny-risky"
    GOVERNED = "governed"


#: The policies that this version carries out. The other two are words of the interface that fail at once.
IMPLEMENTED = frozenset({Policy.AUTO, Policy.ASK})


def parse_policy(text: str | Policy) -> Policy:
    """The policy of that name.

    Raises:
        BadRequest: there is no policy of that name.
        Unsupported: the policy is known but not carried out by this version; nothing has run.
    """
    try:
        policy = Policy(text)
    except ValueError:
        names = ", ".join(sorted(IMPLEMENTED))
        raise BadRequest(
            f"there is no policy {text!r}", where="policy", advice=f"use one of {names}"
        ) from None
    if policy not in IMPLEMENTED:
        names = ", ".join(sorted(IMPLEMENTED))
        raise Unsupported(
            f"the policy {policy.value!r} is not carried out yet",
            where="policy",
            advice=f"use one of {names}",
        )
    return policy
