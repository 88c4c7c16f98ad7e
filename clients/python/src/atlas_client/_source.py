"""Searches: pages of records, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import httpx
from pydantic import BaseModel

from . import _tables
from ._connection import Connection, decoded
from ._errors import APIError, AtlasError, credits_of, item_error
from ._models import FacetCounts, Pivot

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")

MAX_PAGE = 100
"""The maximum number of records of a page, and of items of a batch."""

MAX_CREDITS = 1000
"""What a table may cost unless ``max_credits`` says so."""


def without_none(**members: Any) -> dict[str, Any]:
    """The members of a request that are given."""
    return {name: value for name, value in members.items() if value is not None}


@dataclass(frozen=True)
class Credits:
    """What an answer cost, and the state of the credits after it; zeros where the answer does not say."""

    charged: int
    used: int
    remaining: int
    ceiling: int

    @classmethod
    def of(cls, response: httpx.Response) -> Credits:
        return cls(**credits_of(response))


@dataclass(frozen=True)
class Page(Generic[R]):
    """A page of a search. Each record costs a credit."""

    records: list[R]
    total: int
    """Matches, counted up to 1,000."""
    total_is_capped: bool
    next: str | None
    """Cursor of the next page, for ``search_after``; None on the last."""
    did_you_mean: str | None
    """A query that finds records, if this one finds none."""
    credits: Credits
    request_id: str
    raw: list[dict[str, Any]] = field(repr=False)
    """The records as received."""
    unread: int | None = None
    """Of the queue of signals: how many of all are not dismissed."""
    hints: list[str] = field(default_factory=list)
    """Sentences on what of the search was probably meant otherwise."""
    left_out: tuple[str, ...] = ()
    """Ids of records, the last ones of the page, that are not in ``records``: the answer repeats an earlier
    one, and records have become too long for ``max_bytes`` since. ``pages`` and ``all`` fetch them."""
    missing: list[str] = field(default_factory=list)
    """The words of the query that no record has in any form which meets the other conditions, if nothing is found."""
    highlights: list[dict[str, Any]] = field(default_factory=list)
    """What of each record matches the query, if ``highlight=True`` requests it. ``docs/api.md``, "Highlights"."""

    def to_pandas(self) -> Any:
        """The records as a DataFrame. Needs the extra ``pandas``."""
        return frame(self.records)


def frame(records: Sequence[BaseModel]) -> Any:
    """Records as a pandas DataFrame, a column for each member that one of them has. Needs the extra
    ``pandas``."""
    rows = [r.model_dump(mode="json", exclude_unset=True) for r in records]
    return _tables.to_pandas(_tables.arrow(rows, type(records[0]) if records else BaseModel, fields=()))


@dataclass(frozen=True)
class Cost:
    """How many records match a search, and what its page would cost."""

    count: int
    credits: int


@dataclass(frozen=True)
class Item(Generic[T]):
    """The result of one input of a batch."""

    index: int
    id: str | None
    data: T | None
    error: APIError | None


@dataclass(frozen=True)
class Batch(Generic[T]):
    """An item for each input, in their order. Items can fail although the call succeeds; those with the
    code ``unavailable`` can be retried."""

    items: list[Item[T]]
    succeeded: int
    failed: int

    def raise_for_errors(self) -> None:
        """Raises the error of the first item that failed."""
        for item in self.items:
            if item.error is not None:
                raise item.error


def batch_of(answer: dict[str, Any], read: Any = None) -> Batch[Any]:
    """Decodes the answer of a batch; read makes the data of an item."""
    items = []
    for r in answer["data"]["results"]:
        known = (
            r[k] for k in ("id", "account_id", "contact_id", "project_id", "record_id", "view_id") if r.get(k)
        )
        data, error = r.get("data"), r.get("error")
        items.append(
            Item(
                r["index"],
                next(known, None),
                read(data) if read and data is not None else None,
                item_error(error) if error else None,
            )
        )
    return Batch(items, answer["metadata"]["succeeded"], answer["metadata"]["failed"])


def _page_of(answer: dict[str, Any], response: httpx.Response, read: Any) -> Page[Any]:
    """The page of an answer; read makes its records."""
    data, metadata = answer["data"], answer["metadata"]
    raw = data["records"] if isinstance(data, dict) else data
    return Page(
        [read(r) for r in raw],
        metadata["total"],
        metadata["total_is_capped"],
        metadata.get("search_after"),
        metadata.get("did_you_mean"),
        Credits.of(response),
        response.headers.get("X-Request-Id", ""),
        raw,
        metadata.get("unread"),
        metadata.get("hints", []),
        tuple(metadata.get("left_out", ())),
        metadata.get("missing", []),
        metadata.get("highlights", []),
    )


def _as_page(result: dict[str, Any]) -> dict[str, Any]:
    """A result of a batch as the answer of a search. A dry run has no records, and counts exactly."""
    data = result["data"]
    if not isinstance(data, dict) or "records" in data:
        return result
    counted = {"total": data["count"], "total_is_capped": False}
    return {"data": [], "metadata": counted | result["metadata"]}


def search_batch(connection: Connection, path: str, searches: Sequence[Any]) -> Batch[Page[Any]]:
    """Sends a batch of searches."""
    response = connection.send("POST", path, body={"searches": list(searches)})
    answer = decoded(response)
    items = []
    for r in answer["data"]["results"]:
        error = item_error(r["error"]) if "error" in r else None
        page = None if error else _page_of(_as_page(r), response, dict)
        if page is not None:
            page = replace(page, credits=replace(page.credits, charged=r["metadata"]["credits"]))
        items.append(Item(r["index"], None, page, error))
    return Batch(items, answer["metadata"]["succeeded"], answer["metadata"]["failed"])


def _id_of(row: dict[str, Any]) -> str:
    """The id of a record, or of the account of a join."""
    return str(row["id"] if "id" in row else row["account"]["id"])


def _complete(page: Page[R], full: Page[R]) -> Page[R]:
    """The page with those records of another that it left out."""
    missing = [i for i, r in enumerate(full.raw) if _id_of(r) in page.left_out]
    found = {_id_of(full.raw[i]) for i in missing}
    return replace(
        page,
        records=page.records + [full.records[i] for i in missing],
        raw=page.raw + [full.raw[i] for i in missing],
        left_out=tuple(id for id in page.left_out if id not in found),
        credits=replace(full.credits, charged=page.credits.charged + full.credits.charged),
    )


class Pages(Generic[R]):
    """Pages of rows, and what they cost."""

    _action = "/search"
    _most = MAX_PAGE
    _each = 1  # the most that a row costs

    def __init__(self, connection: Connection, path: str, model: type[R]) -> None:
        self._connection, self._path, self._model = connection, path, model

    def search(
        self,
        query: str | None = None,
        *,
        filters: Any = None,
        relations: Any = None,
        any: Any = None,
        none: Any = None,
        sort: Any = None,
        typos: str | None = None,
        fields: Sequence[str] | None = None,
        limit: int | None = None,
        offset: int | None = None,
        search_after: str | None = None,
        **more: Any,
    ) -> Page[R]:
        """One page, of 25 records unless ``limit`` says otherwise. ``docs/api.md``, "Search requests", has
        the forms of filters, relations and groups."""
        body = without_none(
            query=query, filters=filters, relations=relations, any=any, none=none, sort=sort, typos=typos,
            fields=fields, limit=limit, offset=offset, search_after=search_after, **more,
        )  # fmt: skip
        return self._page(body)

    def _page(self, body: dict[str, Any], *, random_key: bool = False) -> Page[R]:
        response = self._connection.send("POST", self._path + self._action, body=body, random_key=random_key)
        return _page_of(decoded(response), response, self._model.model_validate)

    def pages(
        self, query: str | None = None, *, limit: int | None = None, **search: Any
    ) -> Iterator[Page[R]]:
        """Pages to the last one, each fetched on demand. An error ends the iteration; it can go
        on from ``next`` of the last page, as ``search_after``.

        With a sort by a field, a record occurs exactly once if it matches throughout and its value of that
        field does not change.

        Records that a repetition leaves out for ``max_bytes`` are fetched by one more request for that page,
        without ``max_bytes`` and with an Idempotency-Key of its own. It costs its records. ``left_out`` of the
        page are then those that this request did not find either."""
        limit = self._most if limit is None else limit
        while True:
            page = self.search(query, limit=limit, **search)
            after = search.get("search_after")
            if page.next is not None and page.next == after:
                raise AtlasError("the next page has the cursor of this one")
            if page.left_out:
                whole = without_none(query=query, limit=limit, **(search | {"max_bytes": None}))
                page = _complete(page, self._page(whole, random_key=True))
            yield page
            if page.next is None:
                return
            search |= {"search_after": page.next, "offset": None}

    def all(self, query: str | None = None, *, limit: int | None = None, **search: Any) -> Iterator[R]:
        """The records of ``pages``. A loop that ends early has paid for its whole page: set ``limit``."""
        for page in self.pages(query, limit=limit, **search):
            yield from page.records

    def _rows(
        self, query: str | None, limit: int | None, max_credits: int, progress: bool, search: dict[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Rows of all pages, as received, at most limit. Asks for the price before the first."""
        conditions = {k: v for k, v in search.items() if k not in ("fields", "offset", "search_after")}
        count = self.cost(query, **conditions).count
        left = count if limit is None else min(count, limit)
        if left * self._each > max_credits:
            raise _tables.TooExpensive(count, left * self._each, max_credits)
        with _tables.progress(left, left * self._each, progress) as advance:
            while left > 0:
                page = next(self.pages(query, limit=min(left, self._most), **search))
                yield from page.raw
                advance(len(page.raw))
                left -= len(page.raw)
                if page.next is None:
                    return
                search = search | {"search_after": page.next, "offset": None}

    def to_arrow(
        self,
        query: str | None = None,
        *,
        limit: int | None = None,
        max_credits: int = MAX_CREDITS,
        progress: bool = True,
        **search: Any,
    ) -> Any:
        """The records of a search, all or the first ``limit``, as an Arrow table. The price is requested first: if it
        can be above ``max_credits``, raises TooExpensive and charges nothing. With tqdm there is a progress bar.
        Needs the extra ``arrow``."""
        return _tables.arrow(
            self._rows(query, limit, max_credits, progress, search), self._model, search.get("fields")
        )

    def to_pandas(self, query: str | None = None, **search: Any) -> Any:
        """``to_arrow`` as a pandas DataFrame. Needs the extra ``pandas``."""
        return _tables.to_pandas(self.to_arrow(query, **search))

    def to_polars(self, query: str | None = None, **search: Any) -> Any:
        """``to_arrow`` as a Polars DataFrame. Needs the extra ``polars``."""
        return _tables.to_polars(self.to_arrow(query, **search))

    def cost(self, query: str | None = None, **search: Any) -> Cost:
        """How many records match exactly, and what a page would cost. It is free."""
        body = without_none(query=query, **search, dry_run=True)
        data = self._connection.data("POST", self._path + self._action, body=body)
        return Cost(data["count"], data["credits"])


class Searchable(Pages[R]):
    """What can be searched page by page."""

    def explain(self, query: str, **search: Any) -> dict[str, Any]:
        """How the query is read: words, forms, synonyms, weights, and sentences for people. It is free."""
        body = without_none(query=query, **search, dry_run=True, explain=True)
        return dict(self._connection.data("POST", self._path + "/search", body=body)["explanation"])


class Source(Searchable[R]):
    """What can be searched and counted: a dataset, a book, a View."""

    def facets(
        self, query: str | None = None, *, facets: Sequence[Any] = (), **conditions: Any
    ) -> FacetCounts:
        """Counts the records of a search and how they are distributed. It is free."""
        body = without_none(query=query, **conditions, facets=list(facets))
        return FacetCounts.model_validate(self._connection.data("POST", self._path + "/facets", body=body))

    def pivot(
        self,
        query: str | None = None,
        *,
        rows: Any,
        columns: Any = None,
        measure: Any = None,
        **conditions: Any,
    ) -> Pivot:
        """Counts the records of a search by one field or two. It is free."""
        body = without_none(query=query, **conditions, rows=rows, columns=columns, measure=measure)
        return Pivot.model_validate(self._connection.data("POST", self._path + "/pivot", body=body))


class Joins(Pages[R]):
    """Accounts, each with a project and the person whom one calls first. Each record of a row costs a credit.
    Searches also take ``project_by``, ``project_fields`` and ``contact_fields``; ``limit`` is at most 33.
    ``docs/api.md``, "Join"."""

    _action = "/join"
    _most = 33
    _each = 3
