"""Makes the calls of TestGeneratedClients with the client that openapi-generator makes
for Python."""

import json
import os

from openapi_client import ApiClient, ApiException, Configuration
from openapi_client.api import BookApi, DataApi, ViewsApi
from openapi_client.models import (
    AccountMatch,
    CreateDynamicProjectView,
    IcpTier,
    ProjectFilters,
    ProjectSearchRequest,
    ProjectViewDefinition,
    ProjectViewDefinitionFields,
    Stage,
    StageFilter,
    StageFilterByValue,
    StageFilterByValueValue,
    ViewUpsert,
    WorkspaceAccountUpsert,
    WorkspaceAccountUpsertByMatch,
)

client = ApiClient(Configuration(host=os.environ["ATLAS_BASE"], access_token=os.environ["ATLAS_TOKEN"]))
data, book, views = DataApi(client), BookApi(client), ViewsApi(client)

stages = StageFilterByValueValue([Stage.PERMITTED, Stage.UNDER_CONSTRUCTION])
found = data.search_projects(
    project_search_request=ProjectSearchRequest(
        filters=ProjectFilters(stage=StageFilter(StageFilterByValue(value=stages))),
        sort={"field": "cost", "order": "desc"},  # which the generator has no type for
        limit=2,  # and no range: the generator drops the null of [10000, null]
    )
).actual_instance

try:
    data.get_project("00000000-0000-0000-0000-000000000000")
except ApiException as refused:
    missing = json.loads(refused.body)["error"]["code"]

account = book.upsert_workspace_account(
    WorkspaceAccountUpsert(WorkspaceAccountUpsertByMatch(match=AccountMatch(domain="one.example"), icp_tier=IcpTier.TIER_1))
).data
view = views.upsert_view(
    ViewUpsert(
        CreateDynamicProjectView(
            dataset="project",
            view_type="dynamic",
            name="openapi-generator",
            definition=ProjectViewDefinition(version=1, q="", fields=ProjectViewDefinitionFields(stage=[Stage.PERMITTED])),
        )
    )
).data.view
rows = views.search_view_records(view.id).actual_instance.data.actual_instance

print(
    json.dumps(
        {
            "search_projects": [str(p.id) for p in found.data],
            "get_project": missing,
            "upsert_workspace_account": account.icp_tier,
            "upsert_view": view.definition.fields.stage,
            "search_view_records": [str(r.id) for r in rows.records],
        }
    )
)
