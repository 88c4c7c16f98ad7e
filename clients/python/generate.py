"""Writes src/atlas_client/_models.py and _requests.py from the OpenAPI document.

    go run ./service/openapi/print >clients/openapi.json
    python clients/python/generate.py clients/openapi.json [FOLDER]

It needs datamodel-code-generator. Models of answers are open: values and members that this
version does not know are preserved. Types of requests are exact, for a type checker.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "src" / "atlas_client"

# What a newer service may extend, or what only a request must meet.
RULES = {
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "examples",
    "additionalProperties",
}

# What methods of the client return.
ANSWERS = """AccountWithRelated ContactWithRelated ProjectWithRelated SignalWithRelated
WorkspaceAccountRow WorkspaceContactRow WorkspaceProjectRow WorkspaceAccount WorkspaceContact WorkspaceProject
ViewAccountRow ViewContactRow ViewProjectRow View Alert AlertEntry Member Invitation Skill ListedSkill SignalSubscription
GetWorkspaceData GetCreditsData GetUsageData Release CoverageValue Descriptor Suggestion FacetCounts Pivot Reading
CreateInvitationData AcceptInvitationData InvitationPreview Webhook WebhookDelivery ApiKey ApiKeyPolicy ApiKeyAction ApiKeyActionOutcome IdentityProvider IdentityDomain
ScimToken ProvisionedPerson ProvisionedGroup Board WorkspaceChange AuditEvent RecordsDelivered
AccountMatchResult ContactMatchResult AccountJoinRow WorkspaceAccountJoinRow""".split()


def references(value: Any) -> set[str]:
    """Names of the schemas that a schema refers to."""
    if isinstance(value, dict):
        found = {n for v in value.values() for n in references(v)}
        ref = value.get("$ref", "")
        return found | ({ref.rsplit("/", 1)[1]} if isinstance(ref, str) and "/schemas/" in ref else set())
    return {n for v in value for n in references(v)} if isinstance(value, list) else set()


def relaxed(schema: Any, *, names: bool = False) -> Any:
    """A schema without rules. names: its keys are names of members, not keywords."""
    if isinstance(schema, list):
        return [relaxed(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: relaxed(value, names=key == "properties" and not names)
        for key, value in schema.items()
        if names or not (key in RULES or key == "format" and value == "uuid")
    }


def write(folder: Path, name: str, document: dict[str, Any], roots: set[str], *options: str) -> None:
    schemas = document["components"]["schemas"]
    todo, reachable = list(roots), dict[str, Any]()
    while todo:
        if (n := todo.pop()) not in reachable:
            reachable[n] = schemas[n] if name == "_requests" else relaxed(schemas[n])
            todo += references(reachable[n])
    part = {
        "openapi": document["openapi"],
        "info": document["info"],
        "paths": {},
        "components": {"schemas": dict(sorted(reachable.items()))},
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(part, file)
        file.flush()
        subprocess.run(
            ["datamodel-codegen", "--input", file.name, "--input-file-type", "openapi", "--output", str(folder / f"{name}.py"),
             "--target-python-version", "3.10", "--disable-timestamp", "--use-double-quotes", "--enum-field-as-literal", "all",
             "--use-schema-description", "--formatters", "ruff-format", "--custom-file-header",
             "# Made by generate.py from the OpenAPI document. Do not edit.", *options],
            check=True,
        )  # fmt: skip


def main() -> None:
    document = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE
    bodies = {
        n
        for path in document["paths"].values()
        for o in path.values()
        if isinstance(o, dict)
        for n in references(o.get("requestBody"))
    }
    write(folder, "_requests", document, bodies, "--output-model-type", "typing.TypedDict")
    write(
        folder,
        "_models",
        document,
        set(ANSWERS),
        "--output-model-type",
        "pydantic_v2.BaseModel",
        "--extra-fields",
        "allow",
        "--collapse-root-models",
    )


if __name__ == "__main__":
    main()
