"""Requests to a webhook: https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ._errors import AtlasError

TOLERANCE = 300
"""How old a request may be, in seconds, against replay attacks."""


class WebhookSignatureError(AtlasError):
    """Atlas did not sign the request."""


@dataclass(frozen=True)
class WebhookEvent:
    """The body of a delivery. ``data`` has ids; what they stand for is read from the API."""

    id: str
    """The webhook-id: the same whenever the event is redelivered."""
    type: str
    timestamp: datetime
    data: Any


def read_webhook(secret: str, headers: Mapping[str, str], body: bytes | str) -> WebhookEvent:
    """Checks the signature of a request and reads its body, as it came: bytes, or their text in UTF-8. Respond
    with 2xx once the event is stored: without it, the event is redelivered. Raises WebhookSignatureError."""
    if isinstance(body, str):
        body = body.encode(errors="surrogatepass")  # what is no UTF-8 was not signed
    given = {name.lower(): value for name, value in headers.items()}
    id, at = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not id or not at.isascii() or not at.isdigit() or abs(time.time() - int(at)) > TOLERANCE:
        raise WebhookSignatureError("the signature of the webhook is not valid")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{id}.{at}.".encode() + body, hashlib.sha256)
    want = b"v1," + base64.b64encode(digest)
    signatures = given.get("webhook-signature", "").split()
    if not any(hmac.compare_digest(s.encode(), want) for s in signatures):
        raise WebhookSignatureError("the signature of the webhook is not valid")
    event = json.loads(body)
    return WebhookEvent(
        id, event["type"], datetime.fromisoformat(event["timestamp"].replace("Z", "+00:00")), event["data"]
    )
