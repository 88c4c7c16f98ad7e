"""Makes the calls of TestGeneratedClients with the client that openapi-python-client
generates."""

import json
import os
from uuid import UUID

from atlas_client import AuthenticatedClient
from atlas_client.api.book import upsert_workspace_account
from atlas_client.api.data import get_project, search_projects
from atlas_client.api.views import search_view_records, upsert_view
from atlas_client.models import (
    AccountMatch,
    CreateDynamicProjectView,
    ErrorResponse,
    GetProjectResponseBody,
    IcpTier,
    NumberFilterByValue,
    ProjectFilters,
    ProjectSearchRequest,
    ProjectSort,
    ProjectSortField,
    ProjectSortOrder,
    ProjectViewDefinition,
    ProjectViewDefinitionFields,
    SearchProjectsResponseBody,
    SearchViewRecordsResponseBody,
    Stage,
    StageFilterByValue,
    UpsertViewResponseBody,
    UpsertWorkspaceAccountResponseBody,
    ViewProjectRecords,
    WorkspaceAccountUpsertByMatch,
)
from atlas_client.types import Unset

client = AuthenticatedClient(base_url=os.environ["ATLAS_BASE"], token=os.environ["ATLAS_TOKEN"])

found = search_projects.sync(
    client=client,
    body=ProjectSearchRequest(
        filters=ProjectFilters(
            cost=NumberFilterByValue(value=[10_000, None]),
            stage=StageFilterByValue(value=[Stage.PERMITTED, Stage.UNDER_CONSTRUCTION]),
        ),
        sort=ProjectSort(field=ProjectSortField.COST, order=ProjectSortOrder.DESC),
    ),
)
assert isinstance(found, SearchProjectsResponseBody), found

missing = get_project.sync(UUID(int=0), client=client)
assert isinstance(missing, ErrorResponse) and not isinstance(missing, GetProjectResponseBody), missing
assert not isinstance(missing.error.code, Unset)

account = upsert_workspace_account.sync(
    client=client,
    body=WorkspaceAccountUpsertByMatch(match=AccountMatch(domain="one.example"), icp_tier=IcpTier.TIER_1),
)
assert isinstance(account, UpsertWorkspaceAccountResponseBody) and account.data.icp_tier, account

view = upsert_view.sync(
    client=client,
    body=CreateDynamicProjectView(
        dataset="project",
        view_type="dynamic",
        name="Python",
        definition=ProjectViewDefinition(version=1, q="", fields=ProjectViewDefinitionFields(stage=[Stage.PERMITTED])),
    ),
)
assert isinstance(view, UpsertViewResponseBody), view
fields = view.data.view.definition.fields
assert not isinstance(fields, Unset) and not isinstance(fields.stage, Unset)

rows = search_view_records.sync(view.data.view.id, client=client)
assert isinstance(rows, SearchViewRecordsResponseBody) and isinstance(rows.data, ViewProjectRecords), rows

print(
    json.dumps(
        {
            "search_projects": [str(p.id) for p in found.data],
            "get_project": missing.error.code.value,
            "upsert_workspace_account": account.data.icp_tier.value,
            "upsert_view": [stage.value for stage in fields.stage],
            "search_view_records": [str(r.id) for r in rows.data.records],
        }
    )
)
