"""Sends requests, and repeats those that failed."""

from __future__ import annotations

import itertools
import math
import random
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from ._errors import APIError, AtlasError, ConnectionLost, error_of

DEFAULT_WITHIN = 15.0
"""Seconds: a failover of Redis or Postgres takes less."""


@dataclass(frozen=True)
class Retry:
    """How failed requests are repeated.

    All attempts of a call have the same Idempotency-Key: an attempt whose response was lost is
    neither executed nor charged twice. The response to a repetition has no secrets. A request is repeated after a
    refused or lost connection, 502, 503 and 504, 429 with a short wait, and while the first attempt is
    still running. Only the acceptance of an invitation is not repeated when its response was lost.
    """

    attempts: int | None = None
    """The maximum; None: no limit; 1: no retry."""
    first: float = 0.25
    """Seconds before the second attempt. The wait doubles up to ``longest``; half of it is random. No wait is
    shorter than the service asks for."""
    longest: float = 10.0
    """Seconds. If the service asks for a longer wait, the error is raised at once."""
    within: float | None = None
    """Seconds from the first failure to the start of the last attempt; None: 15, or no limit when ``attempts``
    is set."""

    def wait(
        self, attempt: int, passed: float, failure: AtlasError, *, repeatable: bool = True
    ) -> float | None:
        """Seconds to wait after a failed attempt, counted from 1; None: do not repeat. passed is in seconds since
        the first failure."""
        attempts = math.inf if self.attempts is None else self.attempts
        within = self.within
        if within is None:
            within = DEFAULT_WITHIN if self.attempts is None else math.inf
        if attempt >= attempts or passed >= within or not _repeats(failure, repeatable):
            return None
        pause = min(self.first * 2.0 ** min(attempt - 1, 30), self.longest) * random.uniform(0.5, 1)
        # The last wait ends at within, so that all clients outlast an outage that is shorter.
        wait = min(pause, within - passed)
        retry_after = failure.retry_after if isinstance(failure, APIError) else None
        if retry_after:
            wait = max(wait, min(retry_after * random.uniform(1, 1.25), self.longest, within - passed))
            if retry_after > min(self.longest, within - passed):
                return None
        return wait


def _repeats(failure: AtlasError, repeatable: bool) -> bool:
    if isinstance(failure, APIError):
        if failure.status == 429 or failure.code == "idempotency_in_progress":
            return bool(failure.retry_after)
        return failure.status in (502, 503, 504) and repeatable
    return isinstance(failure, ConnectionLost) and (repeatable or not failure.sent)


@dataclass
class Attempt:
    """The outcome of one attempt, for an observer."""

    method: str
    path: str
    attempt: int
    status: int
    """0 without a response."""
    seconds: float
    error: AtlasError | None


class Connection:
    """One service, one principal, one workspace."""

    def __init__(
        self,
        base_url: str,
        token: Callable[[], str],
        *,
        workspace: str | None,
        retry: Retry,
        http: httpx.Client,
        observe: Callable[[Attempt], None],
        key: str | None = None,
    ) -> None:
        self.base_url, self.token, self.workspace = base_url, token, workspace
        self.retry, self.http, self.observe = retry, http, observe
        self._key, self._calls = key, itertools.count(1)

    def _next_key(self) -> str:
        """The Idempotency-Key of a call."""
        if self._key is None:
            return str(uuid.uuid4())
        n = next(self._calls)
        return self._key if n == 1 else f"{self._key}.{n}"

    def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        stored: bool = True,
        random_key: bool = False,
    ) -> httpx.Response:
        """The first response with success. Raises AtlasError. stored says whether the service stores the
        answer: otherwise the request is not repeated where it may have had an effect. random_key is for a call that does
        not count among those with a key of one's own."""
        key = (str(uuid.uuid4()) if random_key else self._next_key()) if stored else None
        attempt, failed = 1, 0.0
        while True:
            began = time.monotonic()
            failure: AtlasError | None = None
            status = 0
            try:
                response = self._attempt(method, path, body, params, key)
                status = response.status_code
                if response.is_success:
                    return response
                failure = error_of(method, path, response)
            except AtlasError as e:
                failure = e
            finally:
                self.observe(Attempt(method, path, attempt, status, time.monotonic() - began, failure))
            if attempt == 1:
                failed = time.monotonic()
            wait = self.retry.wait(attempt, time.monotonic() - failed, failure, repeatable=stored)
            if wait is None:
                raise failure
            time.sleep(wait)
            attempt += 1

    def _attempt(
        self, method: str, path: str, body: Any, params: Mapping[str, Any] | None, key: str | None
    ) -> httpx.Response:
        query = {k: v for k, v in (params or {}).items() if v is not None}
        if self.workspace:
            query["workspace_id"] = self.workspace
        headers = {"Authorization": f"Bearer {self.token()}", "Accept": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        try:
            return self.http.request(method, self.base_url + path, json=body, params=query, headers=headers)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as e:
            raise ConnectionLost(f"{method} {path}: {e}", sent=False) from e
        except httpx.TransportError as e:
            raise ConnectionLost(f"{method} {path}: {e}") from e

    def data(self, method: str, path: str, **options: Any) -> Any:
        """``data`` of the answer."""
        return decoded(self.send(method, path, **options))["data"]


def decoded(response: httpx.Response) -> Any:
    """The JSON of an answer."""
    try:
        return response.json()
    except ValueError as e:
        raise AtlasError(
            f"the answer to {response.request.method} {response.request.url.path} cannot be read: {e}"
        ) from e


__all__ = ["Attempt", "Connection", "Retry", "decoded"]
