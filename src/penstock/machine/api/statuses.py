"""What went wrong, as Kubernetes says it: a Status with a code, a reason and words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from aiohttp import web

from penstock.api.objects import Json
from penstock.cluster import errors

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Failure:
    """A Status of failure."""

    code: int
    reason: str
    message: str
    retry_after: int = 0
    """Seconds; 0: no word about when to try again."""

    def body(self) -> Json:
        """The Status itself."""
        # No details on what is invalid: kubectl would show them instead of the message.
        details = {"retryAfterSeconds": self.retry_after} if self.retry_after else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }

    def response(self) -> web.Response:
        """The answer that carries it."""
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return web.Response(status=self.code, body=msgspec.json.encode(self.body()), content_type=JSON, headers=headers)


_KINDS: tuple[tuple[type[errors.ClusterError], int, str], ...] = (
    (errors.NotYet, 400, "BadRequest"),
    (errors.Unreachable, 503, "ServiceUnavailable"),
    (errors.NotFound, 404, "NotFound"),
    (errors.AlreadyExists, 409, "AlreadyExists"),
    (errors.Conflict, 409, "Conflict"),
    (errors.Expired, 410, "Expired"),
    (errors.Forbidden, 403, "Forbidden"),
    (errors.NotLeader, 503, "ServiceUnavailable"),
)
_HTTP_REASONS = {
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
}


def of(error: errors.ClusterError) -> Failure:
    """The failure that an exception of the port stands for."""
    message = str(error)
    if isinstance(error, errors.Overloaded):
        return Failure(429, "TooManyRequests", message, retry_after=max(1, round(error.retry_after)))
    for kind, code, reason in _KINDS:
        if isinstance(error, kind):
            return Failure(code, reason, message)
    # The store has one word for both, and the API server's sentence for the second is always the same.
    return Failure(422, "Invalid", message) if " is invalid: " in message else Failure(400, "BadRequest", message)


def of_http(code: int, message: str) -> Failure:
    """The failure for what goes wrong before anybody knows what was asked."""
    return Failure(code, _HTTP_REASONS.get(code, "BadRequest" if code < 500 else "InternalError"), message)


def success(*, name: str, group: str, kind: str, uid: str) -> Json:
    """The Status of a deletion: kubectl waits for the object of this uid to go."""
    details = {"name": name, "group": group, "kind": kind, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {field: text for field, text in details.items() if text},
    }
