"""Errors in the shape of the OpenAI API."""

from checkrein.scripted_models.dialect import Event

#: The API's error types and codes by HTTP status.
ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    403: ("invalid_request_error", "unsupported_country_region_territory"),
    404: ("invalid_request_error", "not_found"),
    429: ("requests", "rate_limit_exceeded"),
    500: ("server_error", "server_error"),
}


def error(status: int, message: str) -> Event:
    """Return an error in this API's shape."""
    fallback = ("server_error", None) if status >= 500 else ("invalid_request_error", None)
    kind, code = ERRORS.get(status, fallback)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
