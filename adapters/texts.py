"""Texts on their way to a model."""

from __future__ import annotations

from checkrein.adapters.errors import BadRequest


def check_text(text: str, where: str) -> None:
    """Refuse what cannot be written as UTF-8 (half a surrogate pair), before anything is sent.

    Args:
        where: which text it is, for the error.

    Raises:
        BadRequest: it cannot.
    """
    try:
        text.encode()
    except UnicodeEncodeError as fault:
        raise BadRequest(
            f"the text holds {text[fault.start]!r} at character {fault.start + 1}, which is no Unicode character",
            where=where,
            advice="a command line or a file was not UTF-8: correct its encoding",
        ) from None
