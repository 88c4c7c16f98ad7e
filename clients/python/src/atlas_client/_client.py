"""The client: one attribute for each part of the API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel

from . import _models as m
from ._connection import Attempt, Connection, Retry, decoded
from ._errors import AtlasError
from ._source import Batch, Credits, Joins, Page, R, Source, batch_of, search_batch, without_none
from ._workspace import (
    Alerts,
    APIKeys,
    Audit,
    Boards,
    Favorites,
    Identity,
    Invitations,
    Members,
    Provisioning,
    Queue,
    Skills,
    Subscriptions,
    Webhooks,
    instant,
    segment,
    walk,
)

FOLLOW_WAIT = 15
"""Seconds that a request of ``follow`` waits for a change."""


@dataclass(frozen=True)
class Change(Generic[R]):
    """A change of a record: ``upsert``, ``delete``, ``merge`` into another, or ``leave`` of the filters."""

    op: str
    id: str
    at: datetime
    changed: list[str] | None
    """The fields of an upsert with other values; None: all."""
    into: str | None
    """The record into which a merged one was merged."""
    record: R | None
    """As it is now, of an upsert, if requested."""


@dataclass(frozen=True)
class Changes(Generic[R]):
    """A page of changes. ``next`` is the cursor of what follows."""

    changes: list[Change[R]]
    next: str
    caught_up: bool
    lag_s: float
    credits: Credits


@dataclass(frozen=True)
class WorkspaceChanges:
    """A page of changes of the workspace. ``next`` is the cursor of what follows."""

    changes: list[m.WorkspaceChange]
    next: str
    caught_up: bool
    lag_s: float


M = TypeVar("M", bound=BaseModel)
C = TypeVar("C", Changes[Any], WorkspaceChanges)


def _follow(cursor: str, read: Callable[[str], C]) -> Iterator[C]:
    """Pages from a cursor on, without end."""
    while True:
        page = read(cursor)
        if not page.caught_up and page.next == cursor:
            raise AtlasError("the next changes have the cursor of these")
        yield page
        cursor = page.next


def _since(at: datetime | str | None) -> str | None:
    return instant(at) if isinstance(at, datetime) else at


class Dataset(Source[R]):
    """A global dataset."""

    def get(self, id: str, *, include: Sequence[str] = (), fields: Sequence[str] = ()) -> R:
        """A record, for a credit, with up to 25 related ones of each kind that ``include`` names. Raises
        APIError ``not_found``, which is free."""
        params = {"include": ",".join(include) or None, "fields": ",".join(fields) or None}
        return self._model.model_validate(
            self._connection.data("GET", self._path + segment(id), params=params)
        )

    def get_all(
        self, ids: Sequence[str], *, include: Sequence[str] = (), fields: Sequence[str] = ()
    ) -> Batch[R]:
        """1 to 100 records; each that is found costs a credit."""
        body = without_none(ids=list(ids), include=list(include) or None, fields=list(fields) or None)
        answer = decoded(self._connection.send("POST", self._path + "/get/batch", body=body))
        return batch_of(answer, self._model.model_validate)

    def suggest(self, prefix: str, **options: Any) -> list[m.Suggestion]:
        """Names and values that begin with a text. It is free."""
        data = self._connection.data("POST", self._path + "/suggest", body={"prefix": prefix, **options})
        return [m.Suggestion.model_validate(s) for s in data["suggestions"]]

    def read(self, query: str, **options: Any) -> m.Reading:
        """The conditions that a question in words says. It applies nothing and is free."""
        body = {"query": query, **options}
        return m.Reading.model_validate(self._connection.data("POST", self._path + "/read", body=body))

    def changes(
        self,
        cursor: str | None = None,
        *,
        since: datetime | str | None = None,
        records: bool = False,
        filters: Any = None,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        wait_s: int | None = None,
        history: str | None = None,
    ) -> Changes[R]:
        """What was published after a cursor or a time; without either, a cursor from now on. history asks for all
        stored changes of one record instead. A record costs a credit. Raises APIError ``cursor_too_old``: take a new cursor, then reread all records."""
        body = without_none(
            cursor=cursor, since=_since(since), records=records or None,
            filters=filters, fields=fields, limit=limit, wait_s=wait_s, history=history,
        )  # fmt: skip
        response = self._connection.send("POST", self._path + "/changes", body=body)
        answer = decoded(response)
        found = [
            Change(
                c["op"],
                c["id"],
                datetime.fromisoformat(c["at"].replace("Z", "+00:00")),
                c.get("changed"),
                c.get("into"),
                self._model.model_validate(c["record"]) if c.get("record") else None,
            )
            for c in answer["data"]
        ]
        meta = answer["metadata"]
        return Changes(found, meta["next"], meta["caught_up"], meta["lag_s"], Credits.of(response))

    def follow(self, cursor: str, *, wait_s: int = FOLLOW_WAIT, **request: Any) -> Iterator[Changes[R]]:
        """Pages of changes from a cursor on, without end: the next when something is published, or ``wait_s``
        later. It can go on from ``next`` of the last page."""
        return _follow(cursor, lambda at: self.changes(at, wait_s=wait_s, **request))


@dataclass(frozen=True)
class Matches(Generic[M]):
    """The results of a match, in the order of the inputs."""

    results: list[M]
    credits: Credits


class Matchable(Dataset[R], Generic[R, M]):
    """A dataset whose records can be found from a list of one's own."""

    def __init__(self, c: Connection, path: str, model: type[R], result: type[M]) -> None:
        super().__init__(c, path, model)
        self._result = result

    def match(
        self,
        inputs: Sequence[Any],
        *,
        min_confidence: float | None = None,
        candidates: int | None = None,
        fields: Sequence[str] | None = None,
    ) -> Matches[M]:
        """The records that 1 to 100 inputs describe, each with a ``ref`` and a ``name``, ``domain``,
        ``email`` or ``phone``. Each record returned costs a credit."""
        body = without_none(
            inputs=list(inputs), min_confidence=min_confidence, candidates=candidates, fields=fields
        )
        response = self._connection.send("POST", self._path + "/match", body=body)
        results = decoded(response)["data"]["results"]
        return Matches([self._result.model_validate(r) for r in results], Credits.of(response))


class Book(Source[R]):
    """The workspace's records of a dataset, with what it wrote about them. A search sees all earlier writes."""

    def read(self, query: str, **options: Any) -> m.Reading:
        """The conditions that a question in words says, as of a dataset."""
        body = {"query": query, **options}
        return m.Reading.model_validate(self._connection.data("POST", self._path + "/read", body=body))

    def get(self, id: str, *, fields: Sequence[str] = ()) -> R:
        """A record of the book, for a credit."""
        params = {"fields": ",".join(fields) or None}
        return self._read(self._connection.data("GET", self._path + segment(id), params=params))

    def upsert(self, **values: Any) -> R:
        """Adds a record, or changes what the workspace wrote about it: None clears a value, one that is left
        out stays. It is named by ``account_id`` (``contact_id``, ``project_id``) or ``match``. ``expected`` is what
        the change is made on: if something else is there, it is ``revision_conflict``, with that as ``current``."""
        return self._read(self._connection.data("POST", self._path + "/upsert", body=values))

    def upsert_all(self, inputs: Sequence[Any]) -> Batch[R]:
        """``upsert`` of 1 to 100 records."""
        body = {"inputs": list(inputs)}
        return batch_of(
            decoded(self._connection.send("POST", self._path + "/upsert/batch", body=body)),
            self._read,
        )

    def delete(self, id: str) -> None:
        """Removes a record and what was written about it. There may be none."""
        self._connection.send("DELETE", self._path + segment(id))

    def delete_all(self, ids: Sequence[str], expected: Mapping[str, Any] | None = None) -> Batch[None]:
        """``delete`` of 1 to 100 records. What is not as ``expected``, by id, stays: ``revision_conflict``."""
        body: dict[str, Any] = {"ids": list(ids)}
        if expected is not None:
            body["expected"] = dict(expected)
        return batch_of(decoded(self._connection.send("POST", self._path + "/delete/batch", body=body)))

    def history(self, id: str) -> Iterator[m.WorkspaceChange]:
        """Who changed what the workspace says of a record and its places in Static Views, the newest first: names
        of fields, no values."""
        changes = walk(self._connection, "GET", self._path + segment(id) + "/history", "changes", {})
        return map(m.WorkspaceChange.model_validate, changes)

    def _read(self, data: Any) -> R:
        return self._model.model_validate(data)


class Books:
    """The book, by dataset."""

    def __init__(self, c: Connection) -> None:
        self.accounts = Book(c, "/workspace/accounts", m.WorkspaceAccountRow)
        self.contacts = Book(c, "/workspace/contacts", m.WorkspaceContactRow)
        self.projects = Book(c, "/workspace/projects", m.WorkspaceProjectRow)
        self.joins = Joins(c, "/workspace/accounts", m.WorkspaceAccountJoinRow)


class Views:
    """Named choices of records: Dynamic Views by a definition, Static ones by what was put into them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list(self, **params: Any) -> Iterator[m.View]:
        """Views by name. params: ``query``, ``dataset``, ``view_type``, ``record_id``, ``favorite_only``."""
        return map(m.View.model_validate, walk(self._connection, "GET", "/workspace/views", "views", params))

    def get(self, id: str) -> m.View:
        """Raises APIError ``view_not_found``."""
        return _view(self._connection.data("GET", "/workspace/views" + segment(id)))

    def upsert(self, **view: Any) -> m.View:
        """Creates a View, or with an ``id`` changes what is given."""
        return _view(self._connection.data("POST", "/workspace/views/upsert", body=view))

    def upsert_all(self, inputs: Sequence[Any]) -> Batch[m.View]:
        """``upsert`` of 1 to 100 Views."""
        body = {"inputs": list(inputs)}
        return batch_of(
            decoded(self._connection.send("POST", "/workspace/views/upsert/batch", body=body)),
            _view,
        )

    def delete(self, id: str) -> None:
        """Deletes a View for all users."""
        self._connection.send("DELETE", "/workspace/views" + segment(id))

    def delete_all(self, ids: Sequence[str]) -> Batch[None]:
        """``delete`` of 1 to 100 Views."""
        body = {"ids": list(ids)}
        return batch_of(decoded(self._connection.send("POST", "/workspace/views/delete/batch", body=body)))

    def add(self, id: str, records: Sequence[str]) -> Batch[None]:
        """Puts 1 to 100 records into a Static View."""
        body = {"inputs": [{"record_id": r} for r in records]}
        path = f"/workspace/views{segment(id)}/records/add/batch"
        return batch_of(decoded(self._connection.send("POST", path, body=body)))

    def remove(self, id: str, records: Sequence[str]) -> Batch[None]:
        """Takes 1 to 100 records out of a Static View."""
        path = f"/workspace/views{segment(id)}/records/delete/batch"
        return batch_of(decoded(self._connection.send("POST", path, body={"ids": list(records)})))

    def accounts(self, id: str) -> Source[m.ViewAccountRow]:
        """The records of a View of accounts."""
        return Source(self._connection, f"/workspace/views{segment(id)}/records", m.ViewAccountRow)

    def contacts(self, id: str) -> Source[m.ViewContactRow]:
        """The records of a View of contacts."""
        return Source(self._connection, f"/workspace/views{segment(id)}/records", m.ViewContactRow)

    def projects(self, id: str) -> Source[m.ViewProjectRow]:
        """The records of a View of projects."""
        return Source(self._connection, f"/workspace/views{segment(id)}/records", m.ViewProjectRow)


def _view(data: Any) -> m.View:
    return m.View.model_validate(data["view"])


class Atlas:
    """One service, as one principal. Safe for threads. ``base_url`` ends in ``/api/v1``.

    token is called for each attempt and may renew a user's access token. timeout is in seconds and bounds
    each attempt; the default exceeds the longest search of a service. observe receives each attempt.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        token: Callable[[], str] | None = None,
        workspace: str | None = None,
        retry: Retry | None = None,
        timeout: float = 70.0,
        http: httpx.Client | None = None,
        observe: Callable[[Attempt], None] = lambda _: None,
    ) -> None:
        base_url = base_url.rstrip("/")
        address = urlsplit(base_url)
        if address.scheme not in ("http", "https") or not address.netloc:
            raise ValueError(f"{base_url!r} is not the address of a service")
        if not address.path.endswith("/api/v1"):
            raise ValueError(f"the base URL {base_url!r} must end in /api/v1")
        if (api_key is None) == (token is None):
            raise ValueError("give either api_key or token")
        self._owned = (
            httpx.Client(
                timeout=timeout, follow_redirects=False, headers={"User-Agent": "atlas-python-client"}
            )
            if http is None
            else None
        )
        credential = token or (lambda: str(api_key))
        self._bind(
            Connection(
                base_url,
                credential,
                workspace=workspace,
                retry=retry or Retry(),
                http=http or self._owned or httpx.Client(),
                observe=observe,
            )
        )

    def _bind(self, c: Connection) -> None:
        self._connection = c
        self.accounts = Matchable(c, "/data/accounts", m.AccountWithRelated, m.AccountMatchResult)
        self.contacts = Matchable(c, "/data/contacts", m.ContactWithRelated, m.ContactMatchResult)
        self.projects = Dataset(c, "/data/projects", m.ProjectWithRelated)
        self.signals = Dataset(c, "/data/signals", m.SignalWithRelated)
        self.joins = Joins(c, "/data/accounts", m.AccountJoinRow)
        self.book = Books(c)
        self.views = Views(c)
        self.favorites = Favorites(c)
        self.alerts = Alerts(c)
        self.members = Members(c)
        self.invitations = Invitations(c)
        self.subscriptions = Subscriptions(c)
        self.queue = Queue(c)
        self.webhooks = Webhooks(c)
        self.api_keys = APIKeys(c)
        self.identity = Identity(c)
        self.provisioning = Provisioning(c)
        self.audit = Audit(c)
        self.boards = Boards(c)
        self.skills = Skills(c)

    def within(self, workspace: str) -> Atlas:
        """This client for another workspace. It shares the connections, and ``close`` of the first ends both."""
        return self._sharing(workspace=workspace)

    def with_idempotency_key(self, key: str) -> Atlas:
        """This client for one call that has this Idempotency-Key, 1 to 200 printable ASCII characters. A
        program that stores the key before the call can repeat it within 24 hours, also after a restart, and
        gets the stored answer. Further requests, such as those of ``pages``, have the key and their
        number. With the key of another call of the same operation a call raises APIError
        ``idempotency_conflict``."""
        return self._sharing(workspace=self._connection.workspace, key=key)

    def _sharing(self, **own: str | None) -> Atlas:
        """A client with the connections of this one."""
        other = Atlas.__new__(Atlas)
        other._owned = None
        c = self._connection
        other._bind(Connection(c.base_url, c.token, retry=c.retry, http=c.http, observe=c.observe, **own))
        return other

    def search_batch(self, searches: Sequence[Any]) -> Batch[Page[Any]]:
        """1 to 50 searches in one call, for the price of the single ones: requests with ``dataset`` and a
        ``limit`` of 20 by default, together at most 1,000. Those that fail with ``unavailable`` can be
        retried."""
        return search_batch(self._connection, "/data/search/batch", searches)

    def search_workspace_batch(self, searches: Sequence[Any]) -> Batch[Page[Any]]:
        """``search_batch`` for the book, with ``dataset``, and for Views, with ``view_id``."""
        return search_batch(self._connection, "/workspace/search/batch", searches)

    def workspace(self) -> m.GetWorkspaceData:
        return m.GetWorkspaceData.model_validate(self._connection.data("GET", "/workspace"))

    def credits(self) -> m.GetCreditsData:
        """The used and the remaining credits of the workspace. It is free and never throttled."""
        return m.GetCreditsData.model_validate(self._connection.data("GET", "/workspace/credits"))

    def usage(self) -> m.GetUsageData:
        """The credits by operation."""
        return m.GetUsageData.model_validate(self._connection.data("GET", "/data/usage"))

    def release(self) -> m.Release:
        """The state of the global dataset."""
        return m.Release.model_validate(self._connection.data("GET", "/data/release"))

    def fields(self, **search: Any) -> list[m.Descriptor]:
        """What can be filtered by: ``dataset``, ``keys``, ``kind``, ``query``."""
        found = self._connection.data("POST", "/data/fields/search", body=search)
        return [m.Descriptor.model_validate(d) for d in found]

    def field(self, dataset: str, key: str) -> m.Descriptor:
        """One field. Raises APIError ``not_found``."""
        path = f"/data/fields{segment(dataset)}{segment(key)}"
        return m.Descriptor.model_validate(self._connection.data("GET", path))

    def coverage(self, dataset: str, by: str, *, limit: int | None = None) -> list[m.CoverageValue]:
        """Of which records each field is known, for the most frequent values of an enum. It is free."""
        body = without_none(dataset=dataset, by=by, limit=limit)
        data = self._connection.data("POST", "/data/coverage", body=body)
        return [m.CoverageValue.model_validate(v) for v in data["values"]]

    def changes(
        self,
        cursor: str | None = None,
        *,
        since: datetime | str | None = None,
        limit: int | None = None,
        wait_s: int | None = None,
        history: str | None = None,
    ) -> WorkspaceChanges:
        """What changed in the workspace, in the form that ``Dataset.changes`` has for records. history asks for all
        stored changes of one id instead. It is free, for owners, admins and keys that may write."""
        body = without_none(cursor=cursor, since=_since(since), limit=limit, wait_s=wait_s, history=history)
        answer = decoded(self._connection.send("POST", "/workspace/changes", body=body))
        found, meta = [m.WorkspaceChange.model_validate(c) for c in answer["data"]], answer["metadata"]
        return WorkspaceChanges(found, meta["next"], meta["caught_up"], meta["lag_s"])

    def follow(self, cursor: str, *, wait_s: int = FOLLOW_WAIT) -> Iterator[WorkspaceChanges]:
        """Pages of changes of the workspace from a cursor on, without end, as ``Dataset.follow``."""
        return _follow(cursor, lambda at: self.changes(at, wait_s=wait_s))

    def close(self) -> None:
        """Closes the connections, unless ``http`` was given."""
        if self._owned is not None:
            with suppress(Exception):
                self._owned.close()

    def __enter__(self) -> Atlas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
