"""Makes the calls of TestGeneratedClients with the models that datamodel-code-generator
makes: requests are written, and answers read, by them."""

import json
import os
import urllib.error
import urllib.request

import atlas_models as m


def call(method, path, body=None, answer=None):
    """Sends a model, and reads the answer as another."""
    request = urllib.request.Request(
        os.environ["ATLAS_BASE"] + path,
        method=method,
        data=body.model_dump_json(exclude_unset=True, by_alias=True).encode() if body else None,
        headers={"Authorization": "Bearer " + os.environ["ATLAS_TOKEN"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as response:
            return answer.model_validate_json(response.read())
    except urllib.error.HTTPError as refused:
        return m.Error.model_validate_json(refused.read())


search = m.ProjectSearchRequest.model_validate(
    {
        "filters": {"cost": {"value": [10_000, None]}, "stage": {"value": ["permitted", "under_construction"]}},
        "sort": {"field": "cost", "order": "desc"},
    }
)
found = call("POST", "/data/projects/search", search, m.SearchProjectsResponseBody)
missing = call("GET", "/data/projects/00000000-0000-0000-0000-000000000000", answer=m.GetProjectResponseBody)
account = call(
    "POST",
    "/workspace/accounts/upsert",
    m.WorkspaceAccountUpsertByMatch.model_validate({"match": {"domain": "one.example"}, "icp_tier": "tier_1"}),
    m.UpsertWorkspaceAccountResponseBody,
)
definition = {"version": 1, "q": "", "fields": {"stage": ["permitted"]}}
view = call(
    "POST",
    "/workspace/views/upsert",
    m.CreateDynamicProjectView.model_validate(
        {"dataset": "project", "view_type": "dynamic", "name": "Models", "definition": definition}
    ),
    m.UpsertViewResponseBody,
).model_dump(mode="json")["data"]["view"]
rows = call(
    "POST", f"/workspace/views/{view['id']}/records/search", m.ViewRecordsSearchRequest.model_validate({}), m.SearchViewRecordsResponseBody
).model_dump(mode="json")
print(
    json.dumps(
        {
            "search_projects": [str(p["id"]) for p in found.model_dump(mode="json")["data"]],
            "get_project": missing.model_dump(mode="json")["error"]["code"],
            "upsert_workspace_account": account.model_dump(mode="json")["data"]["icp_tier"],
            "upsert_view": view["definition"]["fields"]["stage"],
            "search_view_records": [row["id"] for row in rows["data"]["records"]],
        }
    )
)
