"""Runs the examples of the README, one after the other, and then to_pandas."""

import re
from pathlib import Path

text = (Path(__file__).parent.parent / "README.md").read_text()
space: dict[str, object] = {}
for n, block in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)):
    exec(compile(block, f"README.md, example {n + 1}", "exec"), space)

from atlas_client import frame  # noqa: E402

page, newest = space["page"], space["newest"]
assert list(page.to_pandas()["id"]) == [r.id for r in page.records]  # type: ignore[attr-defined]
assert len(frame(newest)) == 60  # type: ignore[arg-type]
assert space["start"].caught_up  # type: ignore[attr-defined]
print("the examples ran")
