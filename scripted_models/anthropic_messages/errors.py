"""Errors in the shape of the Anthropic Messages API."""

from checkrein.scripted_models.dialect import Event

#: The API's error types by HTTP status, as the official SDK's error classes name them.
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error(status: int, message: str) -> Event:
    """Return an error in this API's shape."""
    kind = ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}
