"""Client of Atlas, a query service over construction and real-estate data."""

from ._client import Atlas, Book, Change, Changes, Dataset, Matchable, Matches, WorkspaceChanges
from ._connection import Attempt, Retry
from ._errors import APIError, AtlasError, ConnectionLost, Issue, OutOfCredits
from ._source import MAX_PAGE, Batch, Cost, Credits, Item, Joins, Page, Pages, Searchable, Source, frame
from ._tables import TooExpensive
from ._webhooks import WebhookEvent, WebhookSignatureError, read_webhook

__all__ = [
    "MAX_PAGE", "APIError", "Atlas", "AtlasError", "Attempt", "Batch", "Book", "Change", "Changes", "ConnectionLost",
    "Cost", "Credits", "Dataset", "Issue", "Item", "Matchable", "Matches", "OutOfCredits", "Page", "Retry",
    "Joins", "Pages", "Searchable", "Source", "TooExpensive", "WebhookEvent", "WebhookSignatureError", "WorkspaceChanges", "frame", "read_webhook",
]  # fmt: skip
