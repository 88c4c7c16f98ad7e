"""The errors of the service."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


@dataclass(frozen=True)
class Issue:
    """One problem of a request, with the path to the value."""

    code: str
    path: list[str]
    message: str
    keys: list[str] = field(default_factory=list)


class AtlasError(Exception):
    """Any failure of a call."""


class ConnectionLost(AtlasError):
    """No response. Whether the service received the request is unknown, unless ``sent`` is False."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass
class APIError(AtlasError):
    """An error response, or the error of an item of a batch. ``docs/api.md``, "Errors", lists the codes."""

    code: str
    """"" when the response is not the service's, for instance a proxy's."""
    message: str
    status: int = 0
    """0 in an item of a batch."""
    issues: list[Issue] = field(default_factory=list)
    request_id: str = ""
    retry_after: float | None = None
    """Seconds."""
    method: str = ""
    path: str = ""
    merged_into: str | None = None
    """The record that this one was merged into."""
    doc_url: str = ""
    """Where the code is explained: a path of the service, or an address."""
    current: dict[str, Any] | None = None
    """Of ``revision_conflict`` of the book: what the workspace says of the record, when that was changed
    (``updated_at``) and by which user (``updated_by``). None if it is not in the book."""

    def __str__(self) -> str:
        text = f"{self.method} {self.path}: {self.status} " if self.status else ""
        problems = [f"{'.'.join(i.path) or 'the body'} {i.message}" for i in self.issues] or [self.message]
        text += self.code + (": " + "; ".join(problems) if any(problems) else "")
        if self.status >= 500 and self.request_id:
            text += f" (request {self.request_id})"
        return text


@dataclass
class OutOfCredits(APIError):
    """The ceiling of credits is reached. Each credit returns 24 hours after it was spent."""

    used: int = 0
    remaining: int = 0
    ceiling: int = 0
    next_at: datetime | None = None
    """When the first credits return."""
    back_at: datetime | None = None
    """When all have returned at the latest."""


def issues_of(raw: Any) -> list[Issue]:
    """The issues of an error's JSON."""
    return [
        Issue(
            str(i.get("code", "")),
            [str(p) for p in i.get("path", [])],
            str(i.get("message", "")),
            i.get("keys") or [],
        )
        for i in raw or []
    ]


def item_error(raw: dict[str, Any]) -> APIError:
    """The error of an item of a batch."""
    return APIError(
        str(raw.get("code", "")),
        str(raw.get("message", "")),
        issues=issues_of(raw.get("issues")),
        merged_into=raw.get("merged_into"),
        doc_url=str(raw.get("doc_url", "")),
        current=raw.get("current"),
    )


def error_of(method: str, path: str, response: httpx.Response) -> APIError:
    """Decodes a response without success."""
    given: dict[str, Any] = {}
    try:
        body = response.json()
        if isinstance(body, dict) and isinstance(body.get("error"), dict):
            given = body["error"]
    except ValueError:
        pass
    code, message = str(given.get("code", "")), str(given.get("message", response.reason_phrase))
    issues = issues_of(given.get("issues"))
    if issues and not code:
        code, message = "invalid_input", "the request is not valid"
    error = APIError(
        code,
        message,
        response.status_code,
        issues,
        response.headers.get("X-Request-Id", ""),
        retry_after(response),
        method,
        path,
        given.get("merged_into"),
        str(given.get("doc_url", "")),
        given.get("current"),
    )
    if code != "rate_limited":
        return error
    credits = credits_of(response)
    out = OutOfCredits(
        **vars(error), used=credits["used"], remaining=credits["remaining"], ceiling=credits["ceiling"]
    )
    if error.retry_after:
        out.back_at = datetime.now(timezone.utc) + timedelta(seconds=error.retry_after)
    try:
        out.next_at = datetime.fromisoformat(response.headers["X-Credits-Next-At"].replace("Z", "+00:00"))
    except (KeyError, ValueError):
        pass
    return out


def credits_of(response: httpx.Response) -> dict[str, int]:
    """The state of the credits in a metered response; zeros in others."""
    return {
        name: number(response.headers.get(f"X-Credits-{name}"))
        for name in ("used", "remaining", "ceiling", "charged")
    }


def number(text: str | None) -> int:
    try:
        return int(text or "")
    except ValueError:
        return 0


def retry_after(response: httpx.Response) -> float | None:
    """Seconds of the header, which has seconds or a date."""
    text = response.headers.get("Retry-After", "")
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None
