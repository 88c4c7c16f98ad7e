# Made by generate.py from the OpenAPI document. Do not edit.

from __future__ import annotations

from typing_extensions import NotRequired, TypedDict
from typing import Any, Literal, TypeAlias


class AcceptInvitationRequest(TypedDict, closed=True):
    token: str


class AccountCoverageRequest(TypedDict, closed=True):
    dataset: Literal["accounts"]
    by: Literal["account_type", "city", "state", "country"]
    limit: NotRequired[int]


class AccountDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


AccountField: TypeAlias = Literal[
    "id",
    "name",
    "account_types",
    "domains",
    "website",
    "phone",
    "description",
    "city",
    "state",
    "country",
    "projects_count",
    "contacts_count",
    "signals_count",
    "last_activity_at",
    "created_at",
    "updated_at",
]


class AccountMatch(TypedDict, closed=True):
    domain: str


class AccountMatchInput(TypedDict, closed=True):
    ref: str
    name: NotRequired[str]
    domain: NotRequired[str]
    email: NotRequired[str]
    phone: NotRequired[str]
    city: NotRequired[str]
    state: NotRequired[str]


class AccountMatchRequest(TypedDict, closed=True):
    inputs: list[AccountMatchInput]
    min_confidence: NotRequired[float]
    candidates: NotRequired[int]
    fields: NotRequired[list[AccountField]]
    max_bytes: NotRequired[int]


class AccountNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


RangeItem: TypeAlias = float | None


Range: TypeAlias = list[RangeItem]


class AccountNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class AccountPivotDates(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class AccountPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class AccountPivotValues(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country"]
    limit: NotRequired[int]


class AccountSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "last_activity_at", "created_at", "updated_at", "relevance"]
    order: Literal["asc", "desc"]


AccountType: TypeAlias = Literal[
    "developer",
    "owner",
    "general_contractor",
    "subcontractor",
    "architect",
    "engineer",
    "lender",
    "broker",
    "supplier",
    "public_agency",
    "other",
]


AccountTypeFilterValueMany: TypeAlias = list[AccountType]


class AccountValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


CityItem: TypeAlias = str


class AddIdentityDomainRequest(TypedDict, closed=True):
    domain: str


class AlertUpsert(TypedDict, closed=True):
    view_id: str
    email: NotRequired[Literal["instant", "daily", "weekly"] | None]


Network: TypeAlias = str


class ApiKeyRotation(TypedDict, closed=True):
    old_secret_hours: NotRequired[int]
    expires_in_days: NotRequired[int]
    never_expires: NotRequired[bool]


Id: TypeAlias = int


class ApiKeyUndo(TypedDict, closed=True):
    ids: NotRequired[list[Id]]
    since: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    dry_run: NotRequired[bool]


class Box(TypedDict, closed=True):
    north: float
    south: float
    east: float
    west: float


CodeFilterValueManyItem: TypeAlias = str


CodeFilterValueMany: TypeAlias = list[CodeFilterValueManyItem]


CodeFilterValueOne: TypeAlias = str


class ContactCoverageRequest(TypedDict, closed=True):
    dataset: Literal["contacts"]
    by: Literal["role", "status", "city", "state"]
    limit: NotRequired[int]


class ContactDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


ContactField: TypeAlias = Literal[
    "id",
    "name",
    "title",
    "email",
    "phone",
    "role",
    "status",
    "account_id",
    "account_name",
    "city",
    "state",
    "projects_count",
    "created_at",
    "updated_at",
]


class ContactMatch(TypedDict, closed=True):
    email: str


class ContactMatchInput(TypedDict, closed=True):
    ref: str
    name: NotRequired[str]
    domain: NotRequired[str]
    email: NotRequired[str]
    phone: NotRequired[str]
    city: NotRequired[str]
    state: NotRequired[str]


class ContactMatchRequest(TypedDict, closed=True):
    inputs: list[ContactMatchInput]
    min_confidence: NotRequired[float]
    candidates: NotRequired[int]
    fields: NotRequired[list[ContactField]]
    max_bytes: NotRequired[int]


class ContactNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


Range1Item: TypeAlias = float | None


Range1: TypeAlias = list[Range1Item]


class ContactNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class ContactPivotDates(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class ContactPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class ContactPivotValues(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state"]
    limit: NotRequired[int]


ContactRole: TypeAlias = Literal[
    "owner",
    "executive",
    "developer",
    "project_manager",
    "architect",
    "engineer",
    "estimator",
    "superintendent",
    "broker",
    "lender",
    "public_official",
    "other",
]


ContactRoleFilterValueMany: TypeAlias = list[ContactRole]


class ContactSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at", "updated_at", "relevance"]
    order: Literal["asc", "desc"]


ContactStatus: TypeAlias = Literal["active", "inactive", "unverified"]


ContactStatusFilterValueMany: TypeAlias = list[ContactStatus]


class ContactValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


AccountIdItem: TypeAlias = str


class ContactViewDefinitionFields(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    role: NotRequired[list[ContactRole]]
    status: NotRequired[list[ContactStatus]]
    account_id: NotRequired[list[AccountIdItem]]
    city: NotRequired[list[CityItem]]


class Corner(TypedDict, closed=True):
    latitude: float
    longitude: float


class CreateInvitationRequest(TypedDict, closed=True):
    email: str
    role: Literal["member", "admin"]
    replace: NotRequired[bool]


DayOrInstant: TypeAlias = str


Id1: TypeAlias = str


class DeleteFavoriteViewsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]


class DeleteViewsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]


DescriptorDataset: TypeAlias = Literal[
    "accounts",
    "projects",
    "contacts",
    "signals",
    "workspace_accounts",
    "workspace_projects",
    "workspace_contacts",
]


class DismissSignalsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]


Disposition: TypeAlias = Literal["active", "on_hold", "cancelled", "expired", "refused"]


DispositionFilterValueMany: TypeAlias = list[Disposition]


class FavoriteViewUpsert(TypedDict, closed=True):
    view_id: str
    position: NotRequired[int]


class FindSkillsRequest(TypedDict, closed=True):
    query: NotRequired[str]
    scope: NotRequired[Literal["workspace", "personal"]]
    limit: NotRequired[int]
    offset: NotRequired[int]


GCStatus: TypeAlias = Literal["assigned", "unassigned", "unknown"]


GCStatusFilterValueMany: TypeAlias = list[GCStatus]


class GeoGrid(TypedDict, closed=True):
    precision: int


class GetAccountsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    fields: NotRequired[list[AccountField]]
    include: NotRequired[list[Literal["projects", "signals", "contacts"]]]
    max_bytes: NotRequired[int]


class GetContactsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    fields: NotRequired[list[ContactField]]
    include: NotRequired[list[Literal["account", "projects"]]]
    max_bytes: NotRequired[int]


class GetSkillRequest(TypedDict, closed=True):
    locator: str


class GroupRoleSet(TypedDict, closed=True):
    role: Literal["admin", "member", "none"]


IcpTier: TypeAlias = Literal["tier_1", "tier_2", "tier_3", "disqualified"]


IcpTierFilterValueMany: TypeAlias = list[IcpTier]


IdFilterValueManyItem: TypeAlias = str


IdFilterValueMany: TypeAlias = list[IdFilterValueManyItem]


IdFilterValueOne: TypeAlias = str


Scope: TypeAlias = str


KeyScope: TypeAlias = Literal["data:read", "workspace:read", "workspace:write", "workspace:admin"]


class KnownFilter(TypedDict, closed=True):
    known: bool


class ListSkillsRequest(TypedDict, closed=True):
    scope: NotRequired[Literal["workspace", "personal"]]
    status: NotRequired[Literal["draft", "published"]]
    limit: NotRequired[int]
    offset: NotRequired[int]


LongTextFilterValueManyItem: TypeAlias = str


LongTextFilterValueMany: TypeAlias = list[LongTextFilterValueManyItem]


LongTextFilterValueOne: TypeAlias = str


class Near(TypedDict, closed=True):
    latitude: float
    longitude: float
    radius_m: float


NotesTextFilterValueManyItem: TypeAlias = str


NotesTextFilterValueMany: TypeAlias = list[NotesTextFilterValueManyItem]


NotesTextFilterValueOne: TypeAlias = str


NumberFilterValueOne: TypeAlias = float


NumberRangeItem: TypeAlias = float | None


NumberRange: TypeAlias = list[NumberRangeItem]
"""
An inclusive range: the lowest value, then the highest. One of the two may be null, for an open end.
"""


class PresentationSorting(TypedDict, closed=True):
    id: str
    desc: bool


class PreviewInvitationRequest(TypedDict, closed=True):
    token: str


PrimaryUse: TypeAlias = Literal[
    "single_family",
    "multifamily",
    "mixed_use",
    "office",
    "retail",
    "industrial",
    "hospitality",
    "healthcare",
    "education",
    "institutional",
    "infrastructure",
    "other",
]


PrimaryUseFilterValueMany: TypeAlias = list[PrimaryUse]


class ProjectCoverageRequest(TypedDict, closed=True):
    dataset: Literal["projects"]
    by: Literal["city", "state", "country", "stage", "disposition", "primary_use", "gc_status", "source"]
    limit: NotRequired[int]


class ProjectDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


ProjectField: TypeAlias = Literal[
    "id",
    "name",
    "description",
    "address",
    "city",
    "state",
    "country",
    "stage",
    "disposition",
    "primary_use",
    "residential_units",
    "sqft",
    "stories",
    "cost",
    "gc_status",
    "filed_at",
    "permitted_at",
    "completed_at",
    "detected_at",
    "last_signal_at",
    "signals_count",
    "account_ids",
    "contact_ids",
    "source",
    "source_id",
    "source_url",
    "latitude",
    "longitude",
    "created_at",
    "updated_at",
]


class ProjectGeoFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ProjectNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


Range2Item: TypeAlias = float | None


Range2: TypeAlias = list[Range2Item]


class ProjectNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ProjectPivotDates(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["month", "quarter", "year"]


class ProjectPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class ProjectPivotValues(TypedDict, closed=True):
    field: Literal["city", "state", "country", "stage", "disposition", "primary_use", "gc_status", "source"]
    limit: NotRequired[int]


class ProjectSort(TypedDict, closed=True):
    field: Literal[
        "name",
        "residential_units",
        "sqft",
        "stories",
        "cost",
        "filed_at",
        "permitted_at",
        "detected_at",
        "last_signal_at",
        "signals_count",
        "created_at",
        "updated_at",
        "relevance",
    ]
    order: Literal["asc", "desc"]


class ProjectValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ReadRequest(TypedDict, closed=True):
    query: str
    now: NotRequired[str]
    time_zone: NotRequired[str]


class RemoveViewRecordsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]


ReplayWebhookRequest = TypedDict(
    "ReplayWebhookRequest",
    {
        "from": str,
        "to": str,
    },
    closed=True,
)


class RestoreSignalsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]


Role: TypeAlias = Literal["owner", "admin", "member"]


class ScimTokenCreate(TypedDict, closed=True):
    name: str
    expires_in_days: NotRequired[int]


class SearchDataBatchItemSort(TypedDict, closed=True):
    field: Literal[
        "occurred_at",
        "detected_at",
        "created_at",
        "relevance",
        "name",
        "residential_units",
        "sqft",
        "stories",
        "cost",
        "filed_at",
        "permitted_at",
        "last_signal_at",
        "signals_count",
        "updated_at",
        "projects_count",
        "last_activity_at",
    ]
    order: Literal["asc", "desc"]


Key: TypeAlias = str


class SearchFieldsRequest(TypedDict, closed=True):
    dataset: NotRequired[DescriptorDataset]
    kind: NotRequired[Literal["enum", "text", "number", "date", "geo", "relation"]]
    keys: NotRequired[list[Key]]
    query: NotRequired[str]


class SearchWorkspaceBatchItemSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at", "last_signal_at", "signals_count"]
    order: Literal["asc", "desc"]


ShortTextFilterValueManyItem: TypeAlias = str


ShortTextFilterValueMany: TypeAlias = list[ShortTextFilterValueManyItem]


ShortTextFilterValueOne: TypeAlias = str


ShortValueFilterValueManyItem: TypeAlias = str


ShortValueFilterValueMany: TypeAlias = list[ShortValueFilterValueManyItem]


ShortValueFilterValueOne: TypeAlias = str


class SignalCoverageRequest(TypedDict, closed=True):
    dataset: Literal["signals"]
    by: Literal["signal_type", "city", "state", "stage", "source"]
    limit: NotRequired[int]


class SignalDateFacet(TypedDict, closed=True):
    field: Literal["occurred_at", "detected_at", "created_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    exclude_own: NotRequired[bool]


SignalField: TypeAlias = Literal[
    "id",
    "signal_type",
    "title",
    "summary",
    "project_id",
    "project_name",
    "account_ids",
    "city",
    "state",
    "stage",
    "occurred_at",
    "detected_at",
    "source",
    "source_id",
    "source_url",
    "created_at",
    "updated_at",
]


class SignalPivotDates(TypedDict, closed=True):
    field: Literal["occurred_at", "detected_at", "created_at"]
    interval: Literal["month", "quarter", "year"]


class SignalPivotValues(TypedDict, closed=True):
    field: Literal["signal_type", "city", "state", "stage", "source"]
    limit: NotRequired[int]


class SignalRelations(TypedDict, closed=True):
    """
    This dataset has no relations.
    """


class SignalSort(TypedDict, closed=True):
    field: Literal["occurred_at", "detected_at", "created_at", "relevance"]
    order: Literal["asc", "desc"]


class SignalSubscriptionUpsertDelivery(TypedDict, closed=True):
    """
    What is left out stays; of a new subscription it is in_app, instant.
    """

    frequency: NotRequired[Literal["instant", "daily", "weekly"]]
    channels: NotRequired[list[Literal["in_app", "email"]]]


SignalType: TypeAlias = Literal[
    "permit_filed",
    "permit_issued",
    "construction_started",
    "project_completed",
    "project_on_hold",
    "project_cancelled",
    "permit_expired",
    "gc_assigned",
    "cost_changed",
    "stage_changed",
]


SignalTypeFilterValueMany: TypeAlias = list[SignalType]


class SignalValueFacet(TypedDict, closed=True):
    field: Literal["signal_type", "account_ids", "city", "state", "stage", "source"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    exclude_own: NotRequired[bool]


class SkillCreate(TypedDict, closed=True):
    scope: Literal["workspace", "personal"]
    name: str
    slug: NotRequired[str]
    description: str
    content: str


Stage: TypeAlias = Literal[
    "pre_filing", "filed", "under_review", "approved", "permitted", "under_construction", "completed"
]


StageFilterValueMany: TypeAlias = list[Stage]


class StaticViewDefinition(TypedDict, closed=True):
    version: Literal[1]


TextFilterValueManyItem: TypeAlias = str


TextFilterValueMany: TypeAlias = list[TextFilterValueManyItem]


TextFilterValueOne: TypeAlias = str


TileKind: TypeAlias = Literal["chart", "pivot", "map", "view"]


TileSource: TypeAlias = Literal["data", "book", "view"]


class UpdateMemberRequest(TypedDict, closed=True):
    role: Role


class UpsertFavoriteViewsBatchRequest(TypedDict, closed=True):
    inputs: list[FavoriteViewUpsert]


ValueFilterValueManyItem: TypeAlias = str


ValueFilterValueMany: TypeAlias = list[ValueFilterValueManyItem]


ValueFilterValueOne: TypeAlias = str


class ViewAccountDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewAccountNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


Range3Item: TypeAlias = float | None


Range3: TypeAlias = list[Range3Item]


class ViewAccountNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewAccountPivotDates(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class ViewAccountPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class ViewAccountPivotValues(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country", "tags", "icp_tier"]
    limit: NotRequired[int]


ViewAccountRowField: TypeAlias = Literal[
    "id",
    "name",
    "account_types",
    "domains",
    "website",
    "phone",
    "description",
    "city",
    "state",
    "country",
    "projects_count",
    "contacts_count",
    "signals_count",
    "last_activity_at",
    "created_at",
    "icp_tier",
    "atlas_score",
    "workspace_status",
    "notes",
    "tags",
    "atlas_trend",
    "updated_at",
    "updated_by",
]


class ViewAccountSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at"]
    order: Literal["asc", "desc"]


class ViewAccountValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewContactDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewContactNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


Range4Item: TypeAlias = float | None


Range4: TypeAlias = list[Range4Item]


class ViewContactNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewContactPivotDates(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class ViewContactPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class ViewContactPivotValues(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state", "tags"]
    limit: NotRequired[int]


ViewContactRowField: TypeAlias = Literal[
    "id",
    "name",
    "title",
    "email",
    "phone",
    "role",
    "status",
    "account_id",
    "account_name",
    "city",
    "state",
    "projects_count",
    "created_at",
    "workspace_status",
    "notes",
    "tags",
    "updated_at",
    "updated_by",
]


class ViewContactSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at"]
    order: Literal["asc", "desc"]


class ViewContactValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


ViewDataset: TypeAlias = Literal["account", "contact", "project"]


class ViewDateRange(TypedDict, closed=True):
    after: NotRequired[str]
    before: NotRequired[str]


class ViewNumberRange(TypedDict, closed=True):
    min: NotRequired[str]
    max: NotRequired[str]


class ViewProjectDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewProjectGeoFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewProjectNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


Range5Item: TypeAlias = float | None


Range5: TypeAlias = list[Range5Item]


class ViewProjectNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewProjectPivotDates(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["month", "quarter", "year"]


class ViewProjectPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class ViewProjectPivotValues(TypedDict, closed=True):
    field: Literal[
        "city", "state", "country", "stage", "disposition", "primary_use", "gc_status", "source", "tags"
    ]
    limit: NotRequired[int]


ViewProjectRowField: TypeAlias = Literal[
    "id",
    "name",
    "description",
    "address",
    "city",
    "state",
    "country",
    "stage",
    "disposition",
    "primary_use",
    "residential_units",
    "sqft",
    "stories",
    "cost",
    "gc_status",
    "filed_at",
    "permitted_at",
    "completed_at",
    "detected_at",
    "last_signal_at",
    "signals_count",
    "account_ids",
    "contact_ids",
    "source",
    "source_id",
    "source_url",
    "latitude",
    "longitude",
    "created_at",
    "workspace_status",
    "notes",
    "tags",
    "updated_at",
    "updated_by",
]


class ViewProjectSort(TypedDict, closed=True):
    field: Literal["name", "last_signal_at", "signals_count", "created_at"]
    order: Literal["asc", "desc"]


class ViewProjectValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class ViewRecordToAdd(TypedDict, closed=True):
    record_id: str


class ViewRecordsSearchRequestSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at", "last_signal_at", "signals_count"]
    order: Literal["asc", "desc"]


class ViewSeen(TypedDict, closed=True):
    through: NotRequired[int]


ViewType: TypeAlias = Literal["dynamic", "static"]


WebhookEvent: TypeAlias = Literal[
    "signal.arrived",
    "record.changed",
    "record.deleted",
    "record.merged",
    "credits.threshold",
    "load.switched",
    "audit.event",
    "view.matched",
]


ViewId: TypeAlias = str


class WebhookUpsert(TypedDict, closed=True):
    id: NotRequired[str]
    url: str
    events: list[WebhookEvent]
    view_ids: NotRequired[list[ViewId]]


class WorkspaceAccountDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    of: Literal["sum", "avg", "min", "max"]


Tag: TypeAlias = str


class WorkspaceAccountExpectation(TypedDict, closed=True):
    in_book: NotRequired[bool]
    icp_tier: NotRequired[IcpTier | None]
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]


class WorkspaceAccountNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    of: Literal["sum", "avg", "min", "max"]


Range6Item: TypeAlias = float | None


Range6: TypeAlias = list[Range6Item]


class WorkspaceAccountNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceAccountPivotDates(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class WorkspaceAccountPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class WorkspaceAccountPivotValues(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country", "tags", "icp_tier"]
    limit: NotRequired[int]


WorkspaceAccountRowField: TypeAlias = Literal[
    "id",
    "name",
    "account_types",
    "domains",
    "website",
    "phone",
    "description",
    "city",
    "state",
    "country",
    "projects_count",
    "contacts_count",
    "signals_count",
    "last_activity_at",
    "created_at",
    "icp_tier",
    "workspace_status",
    "notes",
    "tags",
    "atlas_score",
    "atlas_trend",
    "updated_at",
    "updated_by",
]


class WorkspaceAccountSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at", "updated_at", "atlas_score"]
    order: Literal["asc", "desc"]


class WorkspaceAccountUpsertByAccountId(TypedDict, closed=True):
    account_id: str
    icp_tier: NotRequired[IcpTier | None]
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    expected: NotRequired[WorkspaceAccountExpectation]


class WorkspaceAccountUpsertByMatch(TypedDict, closed=True):
    match: AccountMatch
    icp_tier: NotRequired[IcpTier | None]
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    expected: NotRequired[WorkspaceAccountExpectation]


class WorkspaceAccountValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceChangesRequest(TypedDict, closed=True):
    cursor: NotRequired[str]
    since: NotRequired[DayOrInstant]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    history: NotRequired[str]


class WorkspaceContactDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceContactExpectation(TypedDict, closed=True):
    in_book: NotRequired[bool]
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]


class WorkspaceContactNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


Range7Item: TypeAlias = float | None


Range7: TypeAlias = list[Range7Item]


class WorkspaceContactNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceContactPivotDates(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["month", "quarter", "year"]


class WorkspaceContactPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class WorkspaceContactPivotValues(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state", "tags"]
    limit: NotRequired[int]


WorkspaceContactRowField: TypeAlias = Literal[
    "id",
    "name",
    "title",
    "email",
    "phone",
    "role",
    "status",
    "account_id",
    "account_name",
    "city",
    "state",
    "projects_count",
    "created_at",
    "workspace_status",
    "notes",
    "tags",
    "updated_at",
    "updated_by",
]


class WorkspaceContactSort(TypedDict, closed=True):
    field: Literal["name", "projects_count", "created_at", "updated_at"]
    order: Literal["asc", "desc"]


class WorkspaceContactUpsertByContactId(TypedDict, closed=True):
    contact_id: str
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    expected: NotRequired[WorkspaceContactExpectation]


class WorkspaceContactUpsertByMatch(TypedDict, closed=True):
    match: ContactMatch
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    expected: NotRequired[WorkspaceContactExpectation]


class WorkspaceContactValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["projects_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceProjectDateFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceProjectExpectation(TypedDict, closed=True):
    in_book: NotRequired[bool]
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]


class WorkspaceProjectGeoFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceProjectNumberFacetByBucketsMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


Range8Item: TypeAlias = float | None


Range8: TypeAlias = list[Range8Item]


class WorkspaceProjectNumberFacetByRangesMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class WorkspaceProjectPivotDates(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["month", "quarter", "year"]


class WorkspaceProjectPivotRequestMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every row, column and cell with 3 known values of a number or more. `avg` is `average`.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "average", "avg", "min", "max", "median"]


class WorkspaceProjectPivotValues(TypedDict, closed=True):
    field: Literal[
        "city", "state", "country", "stage", "disposition", "primary_use", "gc_status", "source", "tags"
    ]
    limit: NotRequired[int]


WorkspaceProjectRowField: TypeAlias = Literal[
    "id",
    "name",
    "description",
    "address",
    "city",
    "state",
    "country",
    "stage",
    "disposition",
    "primary_use",
    "residential_units",
    "sqft",
    "stories",
    "cost",
    "gc_status",
    "filed_at",
    "permitted_at",
    "completed_at",
    "detected_at",
    "last_signal_at",
    "signals_count",
    "account_ids",
    "contact_ids",
    "source",
    "source_id",
    "source_url",
    "latitude",
    "longitude",
    "created_at",
    "workspace_status",
    "notes",
    "tags",
    "updated_at",
    "updated_by",
]


class WorkspaceProjectSort(TypedDict, closed=True):
    field: Literal["name", "last_signal_at", "signals_count", "created_at", "updated_at"]
    order: Literal["asc", "desc"]


class WorkspaceProjectUpsert(TypedDict, closed=True):
    """
    What is left out stays as it is.
    """

    project_id: str
    workspace_status: NotRequired[str | None]
    notes: NotRequired[str | None]
    tags: NotRequired[list[Tag]]
    expected: NotRequired[WorkspaceProjectExpectation]


class WorkspaceProjectValueFacetMeasure(TypedDict, closed=True):
    """
    Adds `measure` to every value or bucket: of the known values of a number, null where there are none.
    """

    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    of: Literal["sum", "avg", "min", "max"]


class AccountDateFacet(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[AccountDateFacetMeasure]
    exclude_own: NotRequired[bool]


class AccountNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count"]
    buckets: int
    measure: NotRequired[AccountNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class AccountNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count"]
    ranges: list[Range]
    measure: NotRequired[AccountNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


AccountPivotAxis: TypeAlias = AccountPivotValues | AccountPivotDates


class AccountTypeFilterByValue(TypedDict, closed=True):
    value: AccountType | AccountTypeFilterValueMany


class AccountValueFacet(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[AccountValueFacetMeasure]
    exclude_own: NotRequired[bool]


class AccountViewDefinitionFields(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    account_type: NotRequired[list[AccountType]]
    city: NotRequired[list[CityItem]]
    atlas_score: NotRequired[ViewNumberRange]
    icp_tier: NotRequired[list[IcpTier]]
    last_activity: NotRequired[ViewDateRange]


class AddViewRecordsBatchRequest(TypedDict, closed=True):
    inputs: list[ViewRecordToAdd]


class ApiKeyCreate(TypedDict, closed=True):
    name: str
    scopes: list[KeyScope]
    expires_in_days: NotRequired[int]
    never_expires: NotRequired[bool]
    networks: NotRequired[list[Network]]
    daily_credits: NotRequired[int]
    requests_per_second: NotRequired[int]


class ApiKeyPolicySet(TypedDict, closed=True):
    scopes: NotRequired[list[KeyScope]]
    max_days: NotRequired[int]
    networks_required: NotRequired[bool]
    max_daily_credits: NotRequired[int]


class AreaByNear(TypedDict, closed=True):
    near: Near


class AreaByPolygon(TypedDict, closed=True):
    polygon: list[Corner]


class AreaByWithin(TypedDict, closed=True):
    within: Box


class CodeFilterByValue(TypedDict, closed=True):
    value: CodeFilterValueOne | CodeFilterValueMany
    exact_match: NotRequired[bool]


class ContactDateFacet(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[ContactDateFacetMeasure]
    exclude_own: NotRequired[bool]


class ContactNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count"]
    buckets: int
    measure: NotRequired[ContactNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class ContactNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count"]
    ranges: list[Range1]
    measure: NotRequired[ContactNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


ContactPivotAxis: TypeAlias = ContactPivotValues | ContactPivotDates


class ContactRoleFilterByValue(TypedDict, closed=True):
    value: ContactRole | ContactRoleFilterValueMany


class ContactStatusFilterByValue(TypedDict, closed=True):
    value: ContactStatus | ContactStatusFilterValueMany


class ContactValueFacet(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[ContactValueFacetMeasure]
    exclude_own: NotRequired[bool]


class ContactViewDefinition(TypedDict, closed=True):
    version: Literal[1]
    q: str
    fields: ContactViewDefinitionFields


CoverageRequest: TypeAlias = (
    AccountCoverageRequest | ContactCoverageRequest | ProjectCoverageRequest | SignalCoverageRequest
)


DateRange: TypeAlias = list[DayOrInstant | None]
"""
An inclusive range: the lowest value, then the highest. One of the two may be null, for an open end.
"""


class DeleteWorkspaceAccountsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    expected: NotRequired[dict[str, WorkspaceAccountExpectation]]


class DeleteWorkspaceContactsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    expected: NotRequired[dict[str, WorkspaceContactExpectation]]


class DeleteWorkspaceProjectsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    expected: NotRequired[dict[str, WorkspaceProjectExpectation]]


class DispositionFilterByValue(TypedDict, closed=True):
    value: Disposition | DispositionFilterValueMany


class GCStatusFilterByValue(TypedDict, closed=True):
    value: GCStatus | GCStatusFilterValueMany


class GetProjectsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    fields: NotRequired[list[ProjectField]]
    include: NotRequired[list[Literal["accounts", "signals", "contacts"]]]
    max_bytes: NotRequired[int]


class GetSignalsBatchRequest(TypedDict, closed=True):
    ids: list[Id1]
    fields: NotRequired[list[SignalField]]
    include: NotRequired[list[Literal["accounts", "project"]]]
    max_bytes: NotRequired[int]


class IcpTierFilterByValue(TypedDict, closed=True):
    value: IcpTier | IcpTierFilterValueMany


class IdFilterByValue(TypedDict, closed=True):
    value: IdFilterValueOne | IdFilterValueMany
    exact_match: NotRequired[bool]


class IdentityProviderSet(TypedDict, closed=True):
    issuer: str
    client_id: str
    client_secret: NotRequired[str]
    scopes: NotRequired[list[Scope]]
    required: NotRequired[bool]
    role_claim: NotRequired[str]
    roles: NotRequired[dict[str, Role]]
    default_role: NotRequired[Literal["admin", "member"]]
    session_hours: NotRequired[int]
    idle_minutes: NotRequired[int]
    revision: NotRequired[int]


class LongTextFilterByValue(TypedDict, closed=True):
    value: LongTextFilterValueOne | LongTextFilterValueMany
    exact_match: NotRequired[bool]


class NotesTextFilterByValue(TypedDict, closed=True):
    value: NotesTextFilterValueOne | NotesTextFilterValueMany
    exact_match: NotRequired[bool]


class NumberFilterByValue(TypedDict, closed=True):
    value: NumberFilterValueOne | NumberRange


class Presentation(TypedDict, closed=True):
    """
    State of a web table, stored for it; searches do not use it.
    """

    version: Literal[1]
    sorting: list[PresentationSorting]
    column_visibility: dict[str, bool]


class PrimaryUseFilterByValue(TypedDict, closed=True):
    value: PrimaryUse | PrimaryUseFilterValueMany


class ProjectDateFacet(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[ProjectDateFacetMeasure]
    exclude_own: NotRequired[bool]


class ProjectGeoFacet(TypedDict, closed=True):
    geo: GeoGrid
    measure: NotRequired[ProjectGeoFacetMeasure]
    exclude_own: NotRequired[bool]


class ProjectNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    buckets: int
    measure: NotRequired[ProjectNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class ProjectNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    ranges: list[Range2]
    measure: NotRequired[ProjectNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


ProjectPivotAxis: TypeAlias = ProjectPivotValues | ProjectPivotDates


class ProjectValueFacet(TypedDict, closed=True):
    field: Literal[
        "city",
        "state",
        "country",
        "stage",
        "disposition",
        "primary_use",
        "gc_status",
        "account_ids",
        "source",
    ]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[ProjectValueFacetMeasure]
    exclude_own: NotRequired[bool]


class ProjectViewDefinitionFields(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    stage: NotRequired[list[Stage]]
    primary_use: NotRequired[list[PrimaryUse]]
    city: NotRequired[list[CityItem]]
    sqft: NotRequired[ViewNumberRange]
    units: NotRequired[ViewNumberRange]
    stories: NotRequired[ViewNumberRange]
    stories_known: NotRequired[list[Literal["known", "unknown"]]]
    cost: NotRequired[ViewNumberRange]
    gc_status: NotRequired[list[GCStatus]]
    detected: NotRequired[ViewDateRange]


class ShortTextFilterByValue(TypedDict, closed=True):
    value: ShortTextFilterValueOne | ShortTextFilterValueMany
    exact_match: NotRequired[bool]


class ShortValueFilterByValue(TypedDict, closed=True):
    value: ShortValueFilterValueOne | ShortValueFilterValueMany


SignalFacet: TypeAlias = SignalValueFacet | SignalDateFacet


SignalPivotAxis: TypeAlias = SignalPivotValues | SignalPivotDates


class SignalSubscriptionUpsert(TypedDict, closed=True):
    signal_type: SignalType
    delivery: NotRequired[SignalSubscriptionUpsertDelivery]


class SignalTypeFilterByValue(TypedDict, closed=True):
    value: SignalType | SignalTypeFilterValueMany


class StageFilterByValue(TypedDict, closed=True):
    value: Stage | StageFilterValueMany


class TextFilterByValue(TypedDict, closed=True):
    value: TextFilterValueOne | TextFilterValueMany
    exact_match: NotRequired[bool]


class Tile(TypedDict, closed=True):
    kind: TileKind
    title: str
    dataset: Literal["accounts", "contacts", "projects", "signals"]
    of: TileSource
    view_id: NotRequired[str]
    request: dict[str, Any]


class UpsertWorkspaceProjectsBatchRequest(TypedDict, closed=True):
    inputs: list[WorkspaceProjectUpsert]


class ValueFilterByValue(TypedDict, closed=True):
    value: ValueFilterValueOne | ValueFilterValueMany


class ViewAccountDateFacet(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[ViewAccountDateFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewAccountNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    buckets: int
    measure: NotRequired[ViewAccountNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class ViewAccountNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    ranges: list[Range3]
    measure: NotRequired[ViewAccountNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


ViewAccountPivotAxis: TypeAlias = ViewAccountPivotValues | ViewAccountPivotDates


class ViewAccountValueFacet(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country", "workspace_status", "tags", "icp_tier"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[ViewAccountValueFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewContactDateFacet(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[ViewContactDateFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewContactNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count"]
    buckets: int
    measure: NotRequired[ViewContactNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class ViewContactNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count"]
    ranges: list[Range4]
    measure: NotRequired[ViewContactNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


ViewContactPivotAxis: TypeAlias = ViewContactPivotValues | ViewContactPivotDates


class ViewContactValueFacet(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state", "workspace_status", "tags"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[ViewContactValueFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewDefinitionFields(TypedDict, closed=True):
    account_type: NotRequired[list[AccountType]]
    city: NotRequired[list[CityItem]]
    atlas_score: NotRequired[ViewNumberRange]
    icp_tier: NotRequired[list[IcpTier]]
    last_activity: NotRequired[ViewDateRange]
    role: NotRequired[list[ContactRole]]
    status: NotRequired[list[ContactStatus]]
    account_id: NotRequired[list[AccountIdItem]]
    stage: NotRequired[list[Stage]]
    primary_use: NotRequired[list[PrimaryUse]]
    sqft: NotRequired[ViewNumberRange]
    units: NotRequired[ViewNumberRange]
    stories: NotRequired[ViewNumberRange]
    stories_known: NotRequired[list[Literal["known", "unknown"]]]
    cost: NotRequired[ViewNumberRange]
    gc_status: NotRequired[list[GCStatus]]
    detected: NotRequired[ViewDateRange]


class ViewProjectDateFacet(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[ViewProjectDateFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewProjectGeoFacet(TypedDict, closed=True):
    geo: GeoGrid
    measure: NotRequired[ViewProjectGeoFacetMeasure]
    exclude_own: NotRequired[bool]


class ViewProjectNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    buckets: int
    measure: NotRequired[ViewProjectNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class ViewProjectNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    ranges: list[Range5]
    measure: NotRequired[ViewProjectNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


ViewProjectPivotAxis: TypeAlias = ViewProjectPivotValues | ViewProjectPivotDates


class ViewProjectValueFacet(TypedDict, closed=True):
    field: Literal[
        "city",
        "state",
        "country",
        "stage",
        "disposition",
        "primary_use",
        "gc_status",
        "account_ids",
        "source",
        "workspace_status",
        "tags",
    ]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[ViewProjectValueFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceAccountDateFacet(TypedDict, closed=True):
    field: Literal["last_activity_at", "created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[WorkspaceAccountDateFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceAccountNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    buckets: int
    measure: NotRequired[WorkspaceAccountNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceAccountNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count", "contacts_count", "signals_count", "atlas_score"]
    ranges: list[Range6]
    measure: NotRequired[WorkspaceAccountNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


WorkspaceAccountPivotAxis: TypeAlias = WorkspaceAccountPivotValues | WorkspaceAccountPivotDates


WorkspaceAccountUpsert: TypeAlias = WorkspaceAccountUpsertByAccountId | WorkspaceAccountUpsertByMatch


class WorkspaceAccountValueFacet(TypedDict, closed=True):
    field: Literal["account_type", "city", "state", "country", "workspace_status", "tags", "icp_tier"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[WorkspaceAccountValueFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceContactDateFacet(TypedDict, closed=True):
    field: Literal["created_at", "updated_at"]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[WorkspaceContactDateFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceContactNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["projects_count"]
    buckets: int
    measure: NotRequired[WorkspaceContactNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceContactNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["projects_count"]
    ranges: list[Range7]
    measure: NotRequired[WorkspaceContactNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


WorkspaceContactPivotAxis: TypeAlias = WorkspaceContactPivotValues | WorkspaceContactPivotDates


WorkspaceContactUpsert: TypeAlias = WorkspaceContactUpsertByContactId | WorkspaceContactUpsertByMatch


class WorkspaceContactValueFacet(TypedDict, closed=True):
    field: Literal["role", "status", "city", "state", "workspace_status", "tags"]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[WorkspaceContactValueFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceProjectDateFacet(TypedDict, closed=True):
    field: Literal[
        "filed_at",
        "permitted_at",
        "completed_at",
        "detected_at",
        "last_signal_at",
        "created_at",
        "updated_at",
    ]
    interval: Literal["day", "week", "month", "quarter", "year"]
    measure: NotRequired[WorkspaceProjectDateFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceProjectGeoFacet(TypedDict, closed=True):
    geo: GeoGrid
    measure: NotRequired[WorkspaceProjectGeoFacetMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceProjectNumberFacetByBuckets(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    buckets: int
    measure: NotRequired[WorkspaceProjectNumberFacetByBucketsMeasure]
    exclude_own: NotRequired[bool]


class WorkspaceProjectNumberFacetByRanges(TypedDict, closed=True):
    field: Literal["residential_units", "sqft", "stories", "cost", "signals_count"]
    ranges: list[Range8]
    measure: NotRequired[WorkspaceProjectNumberFacetByRangesMeasure]
    exclude_own: NotRequired[bool]


WorkspaceProjectPivotAxis: TypeAlias = WorkspaceProjectPivotValues | WorkspaceProjectPivotDates


class WorkspaceProjectValueFacet(TypedDict, closed=True):
    field: Literal[
        "city",
        "state",
        "country",
        "stage",
        "disposition",
        "primary_use",
        "gc_status",
        "account_ids",
        "source",
        "workspace_status",
        "tags",
    ]
    limit: NotRequired[int]
    prefix: NotRequired[str]
    measure: NotRequired[WorkspaceProjectValueFacetMeasure]
    exclude_own: NotRequired[bool]


AccountNumberFacet: TypeAlias = AccountNumberFacetByRanges | AccountNumberFacetByBuckets


AccountTypeFilter: TypeAlias = AccountTypeFilterByValue | KnownFilter


class AccountViewDefinition(TypedDict, closed=True):
    version: Literal[1]
    q: str
    fields: AccountViewDefinitionFields


Area: TypeAlias = AreaByNear | AreaByWithin | AreaByPolygon


class BoardUpsert(TypedDict, closed=True):
    id: NotRequired[str]
    name: NotRequired[str]
    tiles: NotRequired[list[Tile]]
    revision: NotRequired[int]
    workspace_id: NotRequired[str | None]
    created_by: NotRequired[str | None]
    updated_by: NotRequired[str | None]
    created_at: NotRequired[str | None]
    updated_at: NotRequired[str | None]


CodeFilter: TypeAlias = CodeFilterByValue | KnownFilter


ContactNumberFacet: TypeAlias = ContactNumberFacetByRanges | ContactNumberFacetByBuckets


ContactRoleFilter: TypeAlias = ContactRoleFilterByValue | KnownFilter


ContactStatusFilter: TypeAlias = ContactStatusFilterByValue | KnownFilter


class CreateDynamicAccountView(TypedDict, closed=True):
    dataset: Literal["account"]
    view_type: Literal["dynamic"]
    name: str
    definition: AccountViewDefinition
    presentation: NotRequired[Presentation]
    revision: NotRequired[int]


class CreateDynamicContactView(TypedDict, closed=True):
    dataset: Literal["contact"]
    view_type: Literal["dynamic"]
    name: str
    definition: ContactViewDefinition
    presentation: NotRequired[Presentation]
    revision: NotRequired[int]


class CreateStaticView(TypedDict, closed=True):
    dataset: ViewDataset
    view_type: Literal["static"]
    name: str
    definition: NotRequired[StaticViewDefinition]
    presentation: NotRequired[Presentation]
    revision: NotRequired[int]


class DateFilterByValue(TypedDict, closed=True):
    value: DayOrInstant | DateRange


DispositionFilter: TypeAlias = DispositionFilterByValue | KnownFilter


GCStatusFilter: TypeAlias = GCStatusFilterByValue | KnownFilter


IcpTierFilter: TypeAlias = IcpTierFilterByValue | KnownFilter


IdFilter: TypeAlias = IdFilterByValue | KnownFilter


class LocationFilterByValue(TypedDict, closed=True):
    value: Area


LongTextFilter: TypeAlias = LongTextFilterByValue | KnownFilter


NotesTextFilter: TypeAlias = NotesTextFilterByValue | KnownFilter


NumberFilter: TypeAlias = NumberFilterByValue | KnownFilter


PrimaryUseFilter: TypeAlias = PrimaryUseFilterByValue | KnownFilter


ProjectNumberFacet: TypeAlias = ProjectNumberFacetByRanges | ProjectNumberFacetByBuckets


class ProjectViewDefinition(TypedDict, closed=True):
    version: Literal[1]
    q: str
    fields: ProjectViewDefinitionFields


ShortTextFilter: TypeAlias = ShortTextFilterByValue | KnownFilter


ShortValueFilter: TypeAlias = ShortValueFilterByValue | KnownFilter


SignalTypeFilter: TypeAlias = SignalTypeFilterByValue | KnownFilter


StageFilter: TypeAlias = StageFilterByValue | KnownFilter


TextFilter: TypeAlias = TextFilterByValue | KnownFilter


class UpsertWorkspaceAccountsBatchRequest(TypedDict, closed=True):
    inputs: list[WorkspaceAccountUpsert]


class UpsertWorkspaceContactsBatchRequest(TypedDict, closed=True):
    inputs: list[WorkspaceContactUpsert]


ValueFilter: TypeAlias = ValueFilterByValue | KnownFilter


ViewAccountNumberFacet: TypeAlias = ViewAccountNumberFacetByRanges | ViewAccountNumberFacetByBuckets


ViewContactNumberFacet: TypeAlias = ViewContactNumberFacetByRanges | ViewContactNumberFacetByBuckets


class ViewDefinition(TypedDict, closed=True):
    """
    `version` alone for a Static View; with `q` and `fields` for a Dynamic one, whose conditions are those of its dataset.
    """

    version: Literal[1]
    q: NotRequired[str]
    fields: NotRequired[ViewDefinitionFields]


ViewProjectNumberFacet: TypeAlias = ViewProjectNumberFacetByRanges | ViewProjectNumberFacetByBuckets


WorkspaceAccountNumberFacet: TypeAlias = (
    WorkspaceAccountNumberFacetByRanges | WorkspaceAccountNumberFacetByBuckets
)


WorkspaceContactNumberFacet: TypeAlias = (
    WorkspaceContactNumberFacetByRanges | WorkspaceContactNumberFacetByBuckets
)


WorkspaceProjectNumberFacet: TypeAlias = (
    WorkspaceProjectNumberFacetByRanges | WorkspaceProjectNumberFacetByBuckets
)


AccountFacet: TypeAlias = AccountValueFacet | AccountDateFacet | AccountNumberFacet


class ChangeView(TypedDict, closed=True):
    """
    What is left out stays as it is.
    """

    id: str
    dataset: NotRequired[ViewDataset]
    view_type: NotRequired[ViewType]
    name: NotRequired[str]
    definition: NotRequired[ViewDefinition]
    presentation: NotRequired[Presentation]
    revision: NotRequired[int]


ContactFacet: TypeAlias = ContactValueFacet | ContactDateFacet | ContactNumberFacet


class CreateDynamicProjectView(TypedDict, closed=True):
    dataset: Literal["project"]
    view_type: Literal["dynamic"]
    name: str
    definition: ProjectViewDefinition
    presentation: NotRequired[Presentation]
    revision: NotRequired[int]


DateFilter: TypeAlias = DateFilterByValue | KnownFilter


LocationFilter: TypeAlias = LocationFilterByValue | KnownFilter


ProjectFacet: TypeAlias = ProjectValueFacet | ProjectDateFacet | ProjectNumberFacet | ProjectGeoFacet


class ProjectFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    address: NotRequired[TextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    signals_count: NotRequired[NumberFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]
    created_at: NotRequired[DateFilter]
    updated_at: NotRequired[DateFilter]


class ProjectSuggestRequest(TypedDict, closed=True):
    field: NotRequired[Literal["name", "city", "state", "country", "source"]]
    prefix: str
    filters: NotRequired[ProjectFilters]
    limit: NotRequired[int]


class SearchDataBatchItemAnyFilters(TypedDict, closed=True):
    signal_type: NotRequired[SignalTypeFilter]
    title: NotRequired[TextFilter]
    summary: NotRequired[LongTextFilter]
    project_id: NotRequired[IdFilter]
    account_ids: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    occurred_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    created_at: NotRequired[DateFilter]
    name: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    address: NotRequired[TextFilter]
    country: NotRequired[ValueFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    signals_count: NotRequired[NumberFilter]
    contact_ids: NotRequired[IdFilter]
    location: NotRequired[LocationFilter]
    updated_at: NotRequired[DateFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    projects_count: NotRequired[NumberFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    contacts_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]


class SearchDataBatchItemFilters(TypedDict, closed=True):
    signal_type: NotRequired[SignalTypeFilter]
    title: NotRequired[TextFilter]
    summary: NotRequired[LongTextFilter]
    project_id: NotRequired[IdFilter]
    account_ids: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    occurred_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    created_at: NotRequired[DateFilter]
    name: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    address: NotRequired[TextFilter]
    country: NotRequired[ValueFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    signals_count: NotRequired[NumberFilter]
    contact_ids: NotRequired[IdFilter]
    location: NotRequired[LocationFilter]
    updated_at: NotRequired[DateFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    projects_count: NotRequired[NumberFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    contacts_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]


class SearchDataBatchItemNoneFilters(TypedDict, closed=True):
    signal_type: NotRequired[SignalTypeFilter]
    title: NotRequired[TextFilter]
    summary: NotRequired[LongTextFilter]
    project_id: NotRequired[IdFilter]
    account_ids: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    occurred_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    created_at: NotRequired[DateFilter]
    name: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    address: NotRequired[TextFilter]
    country: NotRequired[ValueFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    signals_count: NotRequired[NumberFilter]
    contact_ids: NotRequired[IdFilter]
    location: NotRequired[LocationFilter]
    updated_at: NotRequired[DateFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    projects_count: NotRequired[NumberFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    contacts_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]


class SearchWorkspaceBatchItemAnyFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


class SearchWorkspaceBatchItemFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


class SearchWorkspaceBatchItemNoneFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


class SignalFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    signal_type: NotRequired[SignalTypeFilter]
    title: NotRequired[TextFilter]
    summary: NotRequired[LongTextFilter]
    project_id: NotRequired[IdFilter]
    account_ids: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    occurred_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    created_at: NotRequired[DateFilter]


class SignalGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[SignalFilters]
    relations: NotRequired[SignalRelations]


class SignalPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SignalFilters]
    relations: NotRequired[SignalRelations]
    any: NotRequired[list[SignalGroup]]
    none: NotRequired[list[SignalGroup]]
    rows: SignalPivotAxis
    columns: NotRequired[SignalPivotAxis | None]
    dry_run: NotRequired[bool]


class SignalQueueSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SignalFilters]
    relations: NotRequired[SignalRelations]
    any: NotRequired[list[SignalGroup]]
    none: NotRequired[list[SignalGroup]]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[SignalField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]
    in_book: NotRequired[bool]
    dismissed: NotRequired[bool]


class SignalSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SignalFilters]
    relations: NotRequired[SignalRelations]
    any: NotRequired[list[SignalGroup]]
    none: NotRequired[list[SignalGroup]]
    sort: NotRequired[SignalSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[SignalField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class SignalSuggestRequest(TypedDict, closed=True):
    field: NotRequired[Literal["city", "state", "source"]]
    prefix: str
    filters: NotRequired[SignalFilters]
    limit: NotRequired[int]


ViewAccountFacet: TypeAlias = ViewAccountValueFacet | ViewAccountDateFacet | ViewAccountNumberFacet


ViewContactFacet: TypeAlias = ViewContactValueFacet | ViewContactDateFacet | ViewContactNumberFacet


ViewProjectFacet: TypeAlias = (
    ViewProjectValueFacet | ViewProjectDateFacet | ViewProjectNumberFacet | ViewProjectGeoFacet
)


class ViewRecordsSearchRequestAnyFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


class ViewRecordsSearchRequestFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


class ViewRecordsSearchRequestNoneFilters(TypedDict, closed=True):
    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    address: NotRequired[TextFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]


ViewUpsert: TypeAlias = (
    CreateDynamicAccountView
    | CreateDynamicContactView
    | CreateDynamicProjectView
    | CreateStaticView
    | ChangeView
)


WorkspaceAccountFacet: TypeAlias = (
    WorkspaceAccountValueFacet | WorkspaceAccountDateFacet | WorkspaceAccountNumberFacet
)


class WorkspaceAccountFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]
    icp_tier: NotRequired[IcpTierFilter]
    atlas_score: NotRequired[NumberFilter]


WorkspaceContactFacet: TypeAlias = (
    WorkspaceContactValueFacet | WorkspaceContactDateFacet | WorkspaceContactNumberFacet
)


class WorkspaceContactFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]


WorkspaceProjectFacet: TypeAlias = (
    WorkspaceProjectValueFacet
    | WorkspaceProjectDateFacet
    | WorkspaceProjectNumberFacet
    | WorkspaceProjectGeoFacet
)


class WorkspaceProjectFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    address: NotRequired[TextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    stage: NotRequired[StageFilter]
    disposition: NotRequired[DispositionFilter]
    primary_use: NotRequired[PrimaryUseFilter]
    residential_units: NotRequired[NumberFilter]
    sqft: NotRequired[NumberFilter]
    stories: NotRequired[NumberFilter]
    cost: NotRequired[NumberFilter]
    gc_status: NotRequired[GCStatusFilter]
    filed_at: NotRequired[DateFilter]
    permitted_at: NotRequired[DateFilter]
    completed_at: NotRequired[DateFilter]
    detected_at: NotRequired[DateFilter]
    last_signal_at: NotRequired[DateFilter]
    signals_count: NotRequired[NumberFilter]
    account_ids: NotRequired[IdFilter]
    contact_ids: NotRequired[IdFilter]
    source: NotRequired[ValueFilter]
    source_id: NotRequired[CodeFilter]
    location: NotRequired[LocationFilter]
    created_at: NotRequired[DateFilter]
    workspace_status: NotRequired[ShortTextFilter]
    notes: NotRequired[NotesTextFilter]
    tags: NotRequired[ShortValueFilter]
    updated_at: NotRequired[DateFilter]


class AccountFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    account_type: NotRequired[AccountTypeFilter]
    domains: NotRequired[TextFilter]
    description: NotRequired[LongTextFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    country: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    contacts_count: NotRequired[NumberFilter]
    signals_count: NotRequired[NumberFilter]
    last_activity_at: NotRequired[DateFilter]
    created_at: NotRequired[DateFilter]
    updated_at: NotRequired[DateFilter]


class AccountSuggestRequest(TypedDict, closed=True):
    field: NotRequired[Literal["name", "city", "state", "country"]]
    prefix: str
    filters: NotRequired[AccountFilters]
    limit: NotRequired[int]


class ContactFilters(TypedDict, closed=True):
    """
    Conditions that must all be met.
    """

    name: NotRequired[TextFilter]
    title: NotRequired[TextFilter]
    email: NotRequired[TextFilter]
    role: NotRequired[ContactRoleFilter]
    status: NotRequired[ContactStatusFilter]
    account_id: NotRequired[IdFilter]
    city: NotRequired[ValueFilter]
    state: NotRequired[ValueFilter]
    projects_count: NotRequired[NumberFilter]
    created_at: NotRequired[DateFilter]
    updated_at: NotRequired[DateFilter]


class ContactRelations(TypedDict, closed=True):
    """
    Conditions on related records, which must all be met. Of each kind the newest 1000 count.
    """

    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]


class ContactSuggestRequest(TypedDict, closed=True):
    field: NotRequired[Literal["city", "state"]]
    prefix: str
    filters: NotRequired[ContactFilters]
    limit: NotRequired[int]


class ProjectChangesRequest(TypedDict, closed=True):
    cursor: NotRequired[str]
    since: NotRequired[DayOrInstant]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    history: NotRequired[str]
    records: NotRequired[bool]
    fields: NotRequired[list[ProjectField]]
    filters: NotRequired[ProjectFilters]


class ProjectRelations(TypedDict, closed=True):
    """
    Conditions on related records, which must all be met. Of each kind the newest 1000 count.
    """

    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]


class SearchDataBatchItemAnyRelations(TypedDict, closed=True):
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SearchDataBatchItemNoneRelations(TypedDict, closed=True):
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SearchDataBatchItemRelations(TypedDict, closed=True):
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SearchWorkspaceBatchItemAnyRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SearchWorkspaceBatchItemNoneRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SearchWorkspaceBatchItemRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class SignalChangesRequest(TypedDict, closed=True):
    cursor: NotRequired[str]
    since: NotRequired[DayOrInstant]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    history: NotRequired[str]
    records: NotRequired[bool]
    fields: NotRequired[list[SignalField]]
    filters: NotRequired[SignalFilters]


class SignalFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SignalFilters]
    relations: NotRequired[SignalRelations]
    any: NotRequired[list[SignalGroup]]
    none: NotRequired[list[SignalGroup]]
    facets: NotRequired[list[SignalFacet]]


class UpsertViewsBatchRequest(TypedDict, closed=True):
    inputs: list[ViewUpsert]


class ViewRecordsSearchRequestAnyRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class ViewRecordsSearchRequestNoneRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class ViewRecordsSearchRequestRelations(TypedDict, closed=True):
    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class WorkspaceContactGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]


class WorkspaceContactPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    rows: WorkspaceContactPivotAxis
    columns: NotRequired[WorkspaceContactPivotAxis | None]
    measure: NotRequired[WorkspaceContactPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class WorkspaceContactSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    sort: NotRequired[WorkspaceContactSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[WorkspaceContactRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class WorkspaceProjectGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]


class WorkspaceProjectPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    rows: WorkspaceProjectPivotAxis
    columns: NotRequired[WorkspaceProjectPivotAxis | None]
    measure: NotRequired[WorkspaceProjectPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class WorkspaceProjectSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    sort: NotRequired[WorkspaceProjectSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[WorkspaceProjectRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class AccountChangesRequest(TypedDict, closed=True):
    cursor: NotRequired[str]
    since: NotRequired[DayOrInstant]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    history: NotRequired[str]
    records: NotRequired[bool]
    fields: NotRequired[list[AccountField]]
    filters: NotRequired[AccountFilters]


class AccountRelations(TypedDict, closed=True):
    """
    Conditions on related records, which must all be met. Of each kind the newest 1000 count.
    """

    has_project: NotRequired[ProjectFilters]
    without_project: NotRequired[ProjectFilters]
    has_signal: NotRequired[SignalFilters]
    without_signal: NotRequired[SignalFilters]
    has_contact: NotRequired[ContactFilters]
    without_contact: NotRequired[ContactFilters]


class ContactChangesRequest(TypedDict, closed=True):
    cursor: NotRequired[str]
    since: NotRequired[DayOrInstant]
    limit: NotRequired[int]
    wait_s: NotRequired[int]
    history: NotRequired[str]
    records: NotRequired[bool]
    fields: NotRequired[list[ContactField]]
    filters: NotRequired[ContactFilters]


class ContactGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[ContactFilters]
    relations: NotRequired[ContactRelations]


class ContactPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[ContactGroup]]
    none: NotRequired[list[ContactGroup]]
    rows: ContactPivotAxis
    columns: NotRequired[ContactPivotAxis | None]
    measure: NotRequired[ContactPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class ContactSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[ContactGroup]]
    none: NotRequired[list[ContactGroup]]
    sort: NotRequired[ContactSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[ContactField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class ProjectGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[ProjectFilters]
    relations: NotRequired[ProjectRelations]


class ProjectPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[ProjectGroup]]
    none: NotRequired[list[ProjectGroup]]
    rows: ProjectPivotAxis
    columns: NotRequired[ProjectPivotAxis | None]
    measure: NotRequired[ProjectPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class ProjectSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[ProjectGroup]]
    none: NotRequired[list[ProjectGroup]]
    sort: NotRequired[ProjectSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[ProjectField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class SearchDataBatchItemAny(TypedDict, closed=True):
    filters: NotRequired[SearchDataBatchItemAnyFilters]
    relations: NotRequired[SearchDataBatchItemAnyRelations]


class SearchDataBatchItemNone(TypedDict, closed=True):
    filters: NotRequired[SearchDataBatchItemNoneFilters]
    relations: NotRequired[SearchDataBatchItemNoneRelations]


class SearchWorkspaceBatchItemAny(TypedDict, closed=True):
    filters: NotRequired[SearchWorkspaceBatchItemAnyFilters]
    relations: NotRequired[SearchWorkspaceBatchItemAnyRelations]


class SearchWorkspaceBatchItemNone(TypedDict, closed=True):
    filters: NotRequired[SearchWorkspaceBatchItemNoneFilters]
    relations: NotRequired[SearchWorkspaceBatchItemNoneRelations]


class ViewContactFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    facets: NotRequired[list[ViewContactFacet]]


class ViewContactPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    rows: ViewContactPivotAxis
    columns: NotRequired[ViewContactPivotAxis | None]
    measure: NotRequired[ViewContactPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class ViewContactSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    sort: NotRequired[ViewContactSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[ViewContactRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class ViewProjectFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    facets: NotRequired[list[ViewProjectFacet]]


class ViewProjectPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    rows: ViewProjectPivotAxis
    columns: NotRequired[ViewProjectPivotAxis | None]
    measure: NotRequired[ViewProjectPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class ViewProjectSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    sort: NotRequired[ViewProjectSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[ViewProjectRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class ViewRecordsSearchRequestAny(TypedDict, closed=True):
    filters: NotRequired[ViewRecordsSearchRequestAnyFilters]
    relations: NotRequired[ViewRecordsSearchRequestAnyRelations]


class ViewRecordsSearchRequestNone(TypedDict, closed=True):
    filters: NotRequired[ViewRecordsSearchRequestNoneFilters]
    relations: NotRequired[ViewRecordsSearchRequestNoneRelations]


class WorkspaceAccountGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]


class WorkspaceAccountJoinRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    sort: NotRequired[WorkspaceAccountSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[WorkspaceAccountRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    project_by: NotRequired[Literal["cost", "residential_units", "sqft", "stories", "signals_count"]]
    project_fields: NotRequired[list[ProjectField]]
    contact_fields: NotRequired[list[ContactField]]


class WorkspaceAccountPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    rows: WorkspaceAccountPivotAxis
    columns: NotRequired[WorkspaceAccountPivotAxis | None]
    measure: NotRequired[WorkspaceAccountPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class WorkspaceAccountSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    sort: NotRequired[WorkspaceAccountSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[WorkspaceAccountRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class WorkspaceContactFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[WorkspaceContactGroup]]
    none: NotRequired[list[WorkspaceContactGroup]]
    facets: NotRequired[list[WorkspaceContactFacet]]


class WorkspaceProjectFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[WorkspaceProjectGroup]]
    none: NotRequired[list[WorkspaceProjectGroup]]
    facets: NotRequired[list[WorkspaceProjectFacet]]


class AccountGroup(TypedDict, closed=True):
    """
    At least one condition. All must be met.
    """

    filters: NotRequired[AccountFilters]
    relations: NotRequired[AccountRelations]


class AccountJoinRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[AccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[AccountGroup]]
    none: NotRequired[list[AccountGroup]]
    sort: NotRequired[AccountSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[AccountField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    project_by: NotRequired[Literal["cost", "residential_units", "sqft", "stories", "signals_count"]]
    project_fields: NotRequired[list[ProjectField]]
    contact_fields: NotRequired[list[ContactField]]


class AccountPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[AccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[AccountGroup]]
    none: NotRequired[list[AccountGroup]]
    rows: AccountPivotAxis
    columns: NotRequired[AccountPivotAxis | None]
    measure: NotRequired[AccountPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class AccountSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[AccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[AccountGroup]]
    none: NotRequired[list[AccountGroup]]
    sort: NotRequired[AccountSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[AccountField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class ContactFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ContactFilters]
    relations: NotRequired[ContactRelations]
    any: NotRequired[list[ContactGroup]]
    none: NotRequired[list[ContactGroup]]
    facets: NotRequired[list[ContactFacet]]


class ProjectFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ProjectFilters]
    relations: NotRequired[ProjectRelations]
    any: NotRequired[list[ProjectGroup]]
    none: NotRequired[list[ProjectGroup]]
    facets: NotRequired[list[ProjectFacet]]


class SearchDataBatchItem(TypedDict, closed=True):
    dataset: Literal["signals", "projects", "contacts", "accounts"]
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SearchDataBatchItemFilters]
    relations: NotRequired[SearchDataBatchItemRelations]
    any: NotRequired[list[SearchDataBatchItemAny]]
    none: NotRequired[list[SearchDataBatchItemNone]]
    sort: NotRequired[SearchDataBatchItemSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[
        list[
            Literal[
                "id",
                "signal_type",
                "title",
                "summary",
                "project_id",
                "project_name",
                "account_ids",
                "city",
                "state",
                "stage",
                "occurred_at",
                "detected_at",
                "source",
                "source_id",
                "source_url",
                "created_at",
                "updated_at",
                "name",
                "description",
                "address",
                "country",
                "disposition",
                "primary_use",
                "residential_units",
                "sqft",
                "stories",
                "cost",
                "gc_status",
                "filed_at",
                "permitted_at",
                "completed_at",
                "last_signal_at",
                "signals_count",
                "contact_ids",
                "latitude",
                "longitude",
                "email",
                "phone",
                "role",
                "status",
                "account_id",
                "account_name",
                "projects_count",
                "account_types",
                "domains",
                "website",
                "contacts_count",
                "last_activity_at",
            ]
        ]
    ]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class SearchDataBatchRequest(TypedDict, closed=True):
    searches: list[SearchDataBatchItem]


class SearchWorkspaceBatchItem(TypedDict, closed=True):
    dataset: NotRequired[Literal["accounts", "contacts", "projects"]]
    view_id: NotRequired[str]
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[SearchWorkspaceBatchItemFilters]
    relations: NotRequired[SearchWorkspaceBatchItemRelations]
    any: NotRequired[list[SearchWorkspaceBatchItemAny]]
    none: NotRequired[list[SearchWorkspaceBatchItemNone]]
    sort: NotRequired[SearchWorkspaceBatchItemSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[
        list[
            Literal[
                "id",
                "name",
                "account_types",
                "domains",
                "website",
                "phone",
                "description",
                "city",
                "state",
                "country",
                "projects_count",
                "contacts_count",
                "signals_count",
                "last_activity_at",
                "created_at",
                "icp_tier",
                "atlas_score",
                "workspace_status",
                "notes",
                "tags",
                "atlas_trend",
                "updated_at",
                "updated_by",
                "title",
                "email",
                "role",
                "status",
                "account_id",
                "account_name",
                "address",
                "stage",
                "disposition",
                "primary_use",
                "residential_units",
                "sqft",
                "stories",
                "cost",
                "gc_status",
                "filed_at",
                "permitted_at",
                "completed_at",
                "detected_at",
                "last_signal_at",
                "account_ids",
                "contact_ids",
                "source",
                "source_id",
                "source_url",
                "latitude",
                "longitude",
            ]
        ]
    ]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class SearchWorkspaceBatchRequest(TypedDict, closed=True):
    searches: list[SearchWorkspaceBatchItem]


class ViewAccountFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    facets: NotRequired[list[ViewAccountFacet]]


class ViewAccountPivotRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    rows: ViewAccountPivotAxis
    columns: NotRequired[ViewAccountPivotAxis | None]
    measure: NotRequired[ViewAccountPivotRequestMeasure | None]
    dry_run: NotRequired[bool]


class ViewAccountSearchRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    sort: NotRequired[ViewAccountSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[list[ViewAccountRowField]]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


ViewRecordsFacetRequest: TypeAlias = (
    ViewAccountFacetRequest | ViewContactFacetRequest | ViewProjectFacetRequest
)


ViewRecordsPivotRequest: TypeAlias = (
    ViewAccountPivotRequest | ViewContactPivotRequest | ViewProjectPivotRequest
)


class ViewRecordsSearchRequest(TypedDict, closed=True):
    """
    A search request of the View's dataset.
    """

    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[ViewRecordsSearchRequestFilters]
    relations: NotRequired[ViewRecordsSearchRequestRelations]
    any: NotRequired[list[ViewRecordsSearchRequestAny]]
    none: NotRequired[list[ViewRecordsSearchRequestNone]]
    sort: NotRequired[ViewRecordsSearchRequestSort]
    limit: NotRequired[int]
    offset: NotRequired[int]
    search_after: NotRequired[str | None]
    fields: NotRequired[
        list[
            Literal[
                "id",
                "name",
                "account_types",
                "domains",
                "website",
                "phone",
                "description",
                "city",
                "state",
                "country",
                "projects_count",
                "contacts_count",
                "signals_count",
                "last_activity_at",
                "created_at",
                "icp_tier",
                "atlas_score",
                "workspace_status",
                "notes",
                "tags",
                "atlas_trend",
                "updated_at",
                "updated_by",
                "title",
                "email",
                "role",
                "status",
                "account_id",
                "account_name",
                "address",
                "stage",
                "disposition",
                "primary_use",
                "residential_units",
                "sqft",
                "stories",
                "cost",
                "gc_status",
                "filed_at",
                "permitted_at",
                "completed_at",
                "detected_at",
                "last_signal_at",
                "account_ids",
                "contact_ids",
                "source",
                "source_id",
                "source_url",
                "latitude",
                "longitude",
            ]
        ]
    ]
    max_bytes: NotRequired[int]
    dry_run: NotRequired[bool]
    highlight: NotRequired[bool]
    explain: NotRequired[bool]


class WorkspaceAccountFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[WorkspaceAccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[WorkspaceAccountGroup]]
    none: NotRequired[list[WorkspaceAccountGroup]]
    facets: NotRequired[list[WorkspaceAccountFacet]]


class AccountFacetRequest(TypedDict, closed=True):
    query: NotRequired[str]
    words: NotRequired[Literal["forms", "exact"]]
    typos: NotRequired[Literal["off", "auto"]]
    filters: NotRequired[AccountFilters]
    relations: NotRequired[AccountRelations]
    any: NotRequired[list[AccountGroup]]
    none: NotRequired[list[AccountGroup]]
    facets: NotRequired[list[AccountFacet]]
