"""Runs the examples of the README, one after the other, then the tables, and the notebook of the documents."""

import json
import os
import re
from pathlib import Path

text = (Path(__file__).parent.parent / "README.md").read_text()
space: dict[str, object] = {}
for n, block in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)):
    exec(compile(block, f"README.md, example {n + 1}", "exec"), space)

from atlas_client import frame  # noqa: E402

page, newest = space["page"], space["newest"]
import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402

from atlas_client import TooExpensive  # noqa: E402

assert list(page.to_pandas()["id"]) == [r.id for r in page.records]  # type: ignore[attr-defined]
assert len(frame(newest)) == 60  # type: ignore[arg-type]
assert space["start"].caught_up  # type: ignore[attr-defined]

atlas = space["atlas"]
projects = atlas.projects  # type: ignore[attr-defined]
before = projects.search(limit=1).credits.used
table = projects.to_arrow(sort={"field": "created_at", "order": "asc"}, limit=230, progress=False)
assert table.num_rows == 230 and len(set(table["id"].to_pylist())) == 230
assert projects.search(limit=1).credits.used == before + 231
assert table.schema.field("created_at").type == pa.timestamp("ms", tz="UTC")
assert table.schema.field("residential_units").type == pa.int64()
assert table.schema.field("account_ids").type == pa.list_(pa.string())
none = projects.to_arrow(
    filters={"name": {"value": "no such name", "exact_match": True}}, fields=["name", "cost"]
)
assert none.schema.names == ["id", "name", "cost"] and none.num_rows == 0
assert none.schema.field("cost").type == pa.float64()
some = projects.to_pandas(limit=3, fields=["residential_units"], progress=False)
assert list(some.columns) == ["id", "residential_units"] and str(some.dtypes["residential_units"]) == "Int64"
assert projects.to_polars(limit=3, progress=False).columns == table.column_names
try:
    projects.to_arrow(max_credits=10, limit=11)
    raise AssertionError("it was not too expensive")
except TooExpensive as e:
    assert e.credits == 11 and e.count > 11
assert projects.search(limit=1).credits.used == before + 231 + 1 + 3 + 3

notebook = json.loads((Path(__file__).parents[3] / "docs/analysis.ipynb").read_text())
shown: dict[str, object] = {}
for n, cell in enumerate(c for c in notebook["cells"] if c["cell_type"] == "code"):
    lines = "".join(cell["source"])
    exec(compile(lines, f"analysis.ipynb, cell {n + 1}", "exec"), shown)
assert len(shown["projects"]) > 0 and shown["projects"]["cost"].is_monotonic_decreasing  # type: ignore
assert len(shown["calls"]) > 0 and "project_cost" in shown["calls"].columns  # type: ignore
page_of_clients = (Path(__file__).parents[3] / "docs/clients.md").read_text()
for statement in re.findall(r"^```sql\n(SELECT.*?)^```", page_of_clients, re.S | re.M):
    os.chdir(os.environ["ATLAS_COPIED"])
    assert duckdb.sql(statement).fetchall()
print("the examples ran")
