"""Client of Atlas, a query service over construction and real-estate data."""

from ._client import Atlas, Book, Change, Changes, Dataset
from ._connection import Attempt, Retry
from ._errors import APIError, AtlasError, ConnectionLost, Issue, OutOfCredits
from ._source import MAX_PAGE, Batch, Cost, Credits, Item, Page, Source, frame

__all__ = [
    "MAX_PAGE", "APIError", "Atlas", "AtlasError", "Attempt", "Batch", "Book", "Change", "Changes", "ConnectionLost",
    "Cost", "Credits", "Dataset", "Issue", "Item", "OutOfCredits", "Page", "Retry", "Source", "frame",
]  # fmt: skip
