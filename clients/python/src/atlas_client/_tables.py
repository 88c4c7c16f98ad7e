"""Rows as tables of Arrow, pandas and Polars. Each needs the extra of its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel

from ._errors import AtlasError

Row = Mapping[str, Any]


class TooExpensive(AtlasError):
    """A table would cost more than ``max_credits``. Nothing was charged."""

    def __init__(self, count: int, credits: int, most: int) -> None:
        super().__init__(
            f"{count:,} records match and would cost up to {credits:,} credits, more than max_credits ({most:,}): "
            "narrow the search, or give a higher max_credits"
        )
        self.count, self.credits = count, credits


def _needs(extra: str, e: ImportError) -> ImportError:
    return ImportError(f"to_{extra} needs more packages: pip install 'atlas-client[{extra}]'", name=e.name)


def _type(annotation: Any) -> Any:
    """The Arrow type of a column for the type of a member; None for values that are written as JSON."""
    import pyarrow as pa

    if get_origin(annotation) in (Union, UnionType):
        known = [a for a in get_args(annotation) if a is not type(None)]
        return _type(known[0]) if len(known) == 1 else None
    if get_origin(annotation) is list:
        item = _type(get_args(annotation)[0])
        return None if item is None else pa.list_(item)
    if annotation in (AwareDatetime, datetime):
        return pa.timestamp("ms", tz="UTC")
    return {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}.get(annotation)


def _cell(value: Any, kind: Any) -> Any:
    import pyarrow as pa

    if value is None:
        return None
    if kind is None:
        return json.dumps(value, ensure_ascii=False)
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    return value


def flat(row: Row) -> Row:
    """A row of a join as one record: the members of the account, and of the others with their name before."""
    if "account" not in row:
        return row
    one = dict(row["account"])
    for part in ("project", "contact"):
        one |= {f"{part}_{name}": value for name, value in (row.get(part) or {}).items()}
    return one


def _members(model: type[BaseModel]) -> dict[str, Any]:
    """The types of the columns of a model's rows."""
    types: dict[str, Any] = {}
    for name, member in model.model_fields.items():
        parts = [a for a in (member.annotation, *get_args(member.annotation)) if isinstance(a, type)]
        part = next((a for a in parts if issubclass(a, BaseModel)), None)
        if part is not None and "account" in model.model_fields:
            before = "" if name == "account" else name + "_"
            types |= {before + inner: kind for inner, kind in _members(part).items()}
        else:
            types[name] = _type(member.annotation)
    return types


def arrow(rows: Iterable[Row], model: type[BaseModel], fields: Sequence[str] | None = None) -> Any:
    """Rows as an Arrow table. Columns are the members of the model, or of fields the id and these, then what the
    model does not know. Their types do not depend on the rows: texts, lists of texts, 64-bit integers, doubles,
    times in UTC; all else is JSON."""
    try:
        import pyarrow as pa
    except ImportError as e:
        raise _needs("arrow", e) from e
    flattened = [flat(row) for row in rows]
    types = _members(model)
    seen = dict.fromkeys(name for row in flattened for name in row)
    known = [name for name in types if fields is None or name in seen or name == "id" or name in fields]
    columns = {}
    for name in dict.fromkeys([*known, *seen]):
        kind = types.get(name)
        cells = [_cell(row.get(name), kind) for row in flattened]
        columns[name] = pa.array(cells, type=kind or pa.string())
    return pa.table(columns)


def to_pandas(table: Any) -> Any:
    """An Arrow table as a pandas DataFrame; integers and booleans have the types of pandas that know missing
    values."""
    try:
        import pandas
        import pyarrow as pa
    except ImportError as e:
        raise _needs("pandas", e) from e
    return table.to_pandas(
        types_mapper={pa.int64(): pandas.Int64Dtype(), pa.bool_(): pandas.BooleanDtype()}.get
    )


def to_polars(table: Any) -> Any:
    """An Arrow table as a Polars DataFrame."""
    try:
        import polars
    except ImportError as e:
        raise _needs("polars", e) from e
    return polars.from_arrow(table)


@contextmanager
def progress(total: int, credits: int, shown: bool) -> Iterator[Callable[[int], object]]:
    """A progress bar, with the price before it, if it is wanted and tqdm is there."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        shown = False
    if not shown or total == 0:
        yield lambda records: None
        return
    with tqdm(total=total, unit=" records", desc=f"up to {credits:,} credits") as bar:
        yield bar.update
