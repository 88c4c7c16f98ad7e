# Made by generate.py from the OpenAPI document. Do not edit.

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from typing import Any, Literal
from datetime import date


class AlertEntry(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    view_id: str
    number: int = Field(..., description="Counts the entries of the View.")
    at: AwareDatetime
    count: int = Field(..., description="How many records began to match.")
    record_ids: list[str] = Field(..., description="The first of them by id.")
    seen: bool


class AlertRest(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    since: AwareDatetime
    reason: str = Field(
        ...,
        description="`too_many_matches`: more than 100,000 records match; narrow the View. `definition_refused`: the definition cannot be read or compared; change it.",
    )


class ApiKeyAction(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: int
    at: AwareDatetime
    action: str = Field(
        ...,
        description="A record that was added to a book or a Static View is `created` there, one that left it `removed`.",
    )
    kind: str = Field(..., description="As of the changes of the workspace.")
    object_id: str = Field(
        ...,
        description="The record of an `overlay` or a `membership`, the user of a `member`, else its own id.",
    )
    dataset: str | None = Field(None, description="Of an `overlay`, a `membership` and a `view`.")
    view_id: str | None = Field(None, description="Of a `membership`.")
    fields: list[str] = Field(..., description="Those that got other values.")
    request_id: str | None = Field(..., description="Null: not known, or chosen by the client and no UUID.")
    undo: str = Field(
        ...,
        description="Whether undoing it, with what the key did to the object later, is possible. `nothing_left`: it is as it was before already; `changed_since`: somebody else changed it later; `not_stored`: what it was is stored nowhere; `not_offered`: what is of this kind is not deleted.",
    )


class ApiKeyActionOutcome(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: int
    at: AwareDatetime
    action: str = Field(
        ...,
        description="A record that was added to a book or a Static View is `created` there, one that left it `removed`.",
    )
    kind: str = Field(..., description="As of the changes of the workspace.")
    object_id: str = Field(
        ...,
        description="The record of an `overlay` or a `membership`, the user of a `member`, else its own id.",
    )
    dataset: str | None = Field(None, description="Of an `overlay`, a `membership` and a `view`.")
    view_id: str | None = Field(None, description="Of a `membership`.")
    fields: list[str] = Field(..., description="Those that got other values.")
    request_id: str | None = Field(..., description="Null: not known, or chosen by the client and no UUID.")
    outcome: str = Field(
        ...,
        description="`undone`: with `dry_run`, it would be. `nothing_left`: it is as it was before already; `changed_since`: somebody else changed it later; `not_stored`: what it was is stored nowhere; `not_offered`: what is of this kind is not deleted; `refused`: a rule forbids it.",
    )
    reason: str | None = Field(None, description="Why it was refused.")


class AuditEventObject(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    id: str | None


class AuditPrincipal(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    kind: str = Field(
        ...,
        description="`scim_token`: the identity provider of the workspace; `operator`: a command of who runs Atlas; `service`: Atlas by itself.",
    )
    id: str | None = Field(..., description="Of a user or a key.")


class Box(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    north: float
    south: float
    east: float
    west: float


class CellCount(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    latitude: float = Field(..., description="The mean of the records.")
    longitude: float = Field(..., description="As `latitude`.")
    count: int
    box: Box = Field(..., description="The map tile.")
    measure: float | None = Field(
        None,
        description="The measure that the facet asks for; null if no value is known, or if the sum is beyond a double.",
    )


class CellCounts(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    geo: list[CellCount] = Field(
        ..., description="The tiles with records: by count, then from north to south, then from west to east."
    )
    unknown: int = Field(..., description="Records without a point.")


class ContactViewDefinitionFields(BaseModel):
    """
    Conditions that must all be met.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    role: list[str] | None = Field(None, description="What the person does")
    status: list[str] | None = Field(None, description="Whether the position is current")
    account_id: list[str] | None = Field(None, description="The person's firm, by id")
    city: list[str] | None = Field(
        None, description="City of the person; values must differ in more than case and accents."
    )


class CreateInvitationDataLetter(BaseModel):
    """
    The pace of letters delays or withholds them; the invitation stands, and `accept_url` works.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    status: str = Field(
        ...,
        description="`due`: it is sent now. `delayed`: it waits for its turn, at `due_at`. `withheld`: its turn would come after the invitation ends, so it is not sent. `none`: the service sends no mail.",
    )
    due_at: AwareDatetime | None = Field(..., description="When it is due; null where it is not sent.")
    paced_by: str | None = Field(
        ...,
        description="What holds it up: as many letters of the workspace in an hour, or to the address in a day, as there may be.",
    )


class DatasetRelease(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    records: int
    newest: AwareDatetime | None = Field(
        ..., description="The latest `updated_at`, of signals `detected_at`; null without a record."
    )
    version: int = Field(
        ..., description="Rises with every change. After a rollback to an earlier generation it is lower."
    )


class DescriptorValue(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    value: str
    label: str
    description: str


class GetCreditsData(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    plan: Literal["pro"]
    remaining: int = Field(..., description="The ceiling without what was used; not below 0.")
    ceiling: int
    used: int
    window_hours: Literal[24]


class GetUsageDataByHour(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    from_: AwareDatetime = Field(..., alias="from")
    credits: int


class IdentityDomain(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    domain: str
    record_name: str = Field(..., description="The name of the DNS text record that proves it.")
    record_text: str = Field(..., description="What the record has.")
    proved_at: AwareDatetime | None = Field(..., description="Null: it is not proved, or was lost.")
    proved_by: str | None
    checked_at: AwareDatetime | None
    failing_since: AwareDatetime | None = Field(
        ...,
        description="Since when the record is away; after three days, and three look-ups, the domain is lost.",
    )
    created_at: AwareDatetime


class IdentityProvider(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    issuer: str
    client_id: str
    scopes: list[str]
    required: bool = Field(
        ..., description="True: people act in the workspace only in a session of it. API keys go on."
    )
    role_claim: str | None = Field(
        ...,
        description="The claim of the ID token, or of the user, whose values `roles` has roles for. Null: roles are given in the workspace alone.",
    )
    roles: dict[str, Any] = Field(
        ...,
        description="Roles by values of the claim; of several the highest counts. They are given at each sign-in and renewal.",
    )
    default_role: str | None = Field(
        ...,
        description="Of who has no value of `roles`. Null: they do not get in, unless they are members or invited and no claim is looked at.",
    )
    session_hours: int = Field(
        ..., description="How long a session lasts at most. That of the service is the limit."
    )
    idle_minutes: int = Field(
        ..., description="How long a session lasts after its last request. That of the service is the limit."
    )
    revision: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    updated_by: str | None = Field(..., description="Null: an operator, or a user who was deleted.")


class Invitation(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    email: str
    role: str
    status: str
    sent_at: AwareDatetime | None = Field(..., description="When the letter was first tried; null: never.")
    expires_at: AwareDatetime
    created_at: AwareDatetime


class InvitationPreviewInvitedBy(BaseModel):
    """
    Null: an API key invited, or somebody who is no member any more.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    name: str
    email: str


class InvitationPreviewWorkspace(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str


class ListedSkill(BaseModel):
    """
    A Skill without its content.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    locator: str = Field(..., description="`personal/<slug>` or `workspace/<slug>`.")
    scope: str
    status: str
    name: str
    description: str
    created_by: str | None = Field(..., description="Null for an API key.")
    revision: int
    created_at: AwareDatetime
    updated_at: AwareDatetime


class MatchReason(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str = Field(..., description="The member of the input.")
    verdict: str = Field(
        ...,
        description="`missing`: the record has no value, or one of the values says nothing, such as the domain of a public mail service.",
    )
    score: float = Field(..., description="How alike the values are.")


class PivotCell(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    count: int
    measure: float | None = Field(
        None,
        description="The measure that the pivot asks for; null of fewer than 3 known values, or if the sum is beyond a double.",
    )


class PivotGroup(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    group: str = Field(
        ...,
        description="`value` and `bucket` are listed. `other` has records with values, none of which is listed, `unknown` those without a value; both come last, and only if they have records.",
    )
    value: str | None = Field(None, description="What a filter takes; of `value`.")
    label: str | None = Field(None, description="The value for people.")
    from_: str | None = Field(None, alias="from", description="Where a bucket begins.")
    to: str | None = Field(None, description="Before which a bucket ends; null after the year 9999.")
    count: int
    measure: float | None = Field(
        None,
        description="The measure that the pivot asks for; null of fewer than 3 known values, or if the sum is beyond a double.",
    )


class PresentationSorting(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    desc: bool


class ProvisionedGroup(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str
    members: int = Field(..., description="How many people are in it.")
    role: str | None = Field(..., description="What they are in the workspace; null: nothing is said.")
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ProvisionedPerson(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    user_name: str = Field(..., description="What the provider names them by.")
    external_id: str | None
    name: str
    email: str = Field(..., description="The address that they sign in with.")
    state: str = Field(
        ...,
        description="`pending`: a member when they first sign in; `inactive`: taken away by the provider; `removed`: taken away by an owner or admin.",
    )
    user_id: str | None = Field(..., description="Who they are; null before they first sign in.")
    role: str | None = Field(..., description="Null for who is no member.")
    removal_refused_at: AwareDatetime | None = Field(
        ..., description="When the provider last asked to end the membership of the last owner, who stays."
    )
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ReadSpan(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    from_: int = Field(..., alias="from", description="Where it begins.")
    to: int = Field(..., description="Where it ends; what is there is no part of it.")


class RecordsDelivered(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    hour: AwareDatetime = Field(..., description="Its begin.")
    principal: AuditPrincipal
    operation: str
    records: int
    requests: int


class ReleaseDatasets(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    accounts: DatasetRelease
    contacts: DatasetRelease
    projects: DatasetRelease
    signals: DatasetRelease


class ScimToken(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str
    start: str = Field(..., description="How the text of the token begins, by which it is recognized.")
    state: str
    created_by: str | None = Field(..., description="Null for a user who is gone.")
    created_at: AwareDatetime
    expires_at: AwareDatetime
    revoked_at: AwareDatetime | None
    last_used_at: AwareDatetime | None = Field(..., description="To a minute.")
    last_network: str | None = Field(
        ...,
        description="Where that was from: an IPv4 address, or the /64 of an IPv6 address; null: not known.",
    )
    secret: str | None = Field(
        None,
        description="The text of the token. In the answer to its creation only, not in one to the repetition: make another token.",
    )


class SignalSubscriptionDelivery(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    channels: list[str]
    frequency: str


class Skill(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    locator: str = Field(..., description="`personal/<slug>` or `workspace/<slug>`.")
    scope: str
    status: str
    name: str
    description: str
    created_by: str | None = Field(..., description="Null for an API key.")
    revision: int
    created_at: AwareDatetime
    updated_at: AwareDatetime
    content: str


class SourceTerms(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    page: str | None = Field(..., description="Web page of the data.")
    licence: str | None
    attribution: str | None = Field(..., description="Line that must stand where the data is shown.")
    terms: str | None = Field(..., description="Web page of the terms of use.")


class StaticViewDefinition(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]


class SubFieldDescriptor(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    dataset: str
    key: str
    kind: str
    description: str
    values: list[DescriptorValue] | None = Field(
        None,
        description="Of an enum. Of a dynamic enum the most frequent ones, with how many records have each; `tags`, each workspace's own, list none.",
    )


class Suggestion(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str = Field(..., description="The key of a filter.")
    value: str = Field(
        ..., description="The name, or the most frequent spelling of the value. A filter takes either."
    )
    id: str | None = Field(None, description="The record with the name; absent of other values.")
    count: int = Field(
        ...,
        description="Of an account's name `projects_count`, of a project's name `signals_count`, of other values how many records have them.",
    )


class ValueCount(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    value: str = Field(..., description="What a filter takes.")
    label: str | None = Field(
        ...,
        description="Of a closed enumeration its label, of other values the most frequent spelling, of an account its name: null if it is not known.",
    )
    count: int
    measure: float | None = Field(
        None,
        description="The measure that the facet asks for; null if no value is known, or if the sum is beyond a double.",
    )


class ValueCounts(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str
    values: list[ValueCount] = Field(..., description="By count, then by folded value.")
    other: int = Field(..., description="The sum of the counts of the values that are not listed.")
    unknown: int = Field(..., description="Records without a value.")


class ViewAccountRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `account_types`, `icp_tier`, `atlas_score`, `workspace_status`, `tags`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The firm's name")
    account_types: list[str] | None = Field(None, description="What the firm does")
    domains: list[str] | None = Field(None, description="The firm's internet domains")
    website: str | None = None
    phone: str | None = None
    description: str | None = Field(None, description="What the firm says or is said of it")
    city: str | None = Field(None, description="City of the firm")
    state: str | None = Field(None, description="State or province of the firm")
    country: str | None = Field(None, description="Country of the firm")
    projects_count: int | None = Field(None, description="How many projects name the firm")
    contacts_count: int | None = Field(None, description="How many contacts work for the firm")
    signals_count: int | None = Field(None, description="How many signals name the firm")
    last_activity_at: AwareDatetime | None = Field(
        None, description="When the latest signal that names the firm was detected"
    )
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    icp_tier: str | None = Field(
        None, description="How well the account fits the workspace's ideal customer profile"
    )
    atlas_score: int | None = Field(
        None, description="Computed score of the account for the workspace, 0 to 100"
    )
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    atlas_trend: str | None = None
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class ViewContactRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `title`, `email`, `account_id`, `workspace_status`, `tags`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The person's name")
    title: str | None = Field(None, description="Position in the firm")
    email: str | None = Field(None, description="E-mail address")
    phone: str | None = None
    role: str | None = Field(None, description="What the person does")
    status: str | None = Field(None, description="Whether the position is current")
    account_id: str | None = Field(None, description="The person's firm, by id")
    account_name: str | None = None
    city: str | None = Field(None, description="City of the person")
    state: str | None = Field(None, description="State or province of the person")
    projects_count: int | None = Field(None, description="How many projects name the person")
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class ViewDateRange(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    after: date | None = None
    before: date | None = None


class ViewNumberRange(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    min: str | None = None
    max: str | None = None


class ViewProjectRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `city`, `state`, `stage`, `primary_use`, `residential_units`, `last_signal_at`, `workspace_status`, `tags`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The project's name")
    description: str | None = Field(None, description="What is being built")
    address: str | None = Field(None, description="Street address")
    city: str | None = Field(None, description="City of the project")
    state: str | None = Field(None, description="State or province of the project")
    country: str | None = Field(None, description="Country of the project")
    stage: str | None = Field(None, description="How far the project is")
    disposition: str | None = Field(None, description="Whether the project goes ahead")
    primary_use: str | None = Field(None, description="What it is built for")
    residential_units: int | None = Field(None, description="Number of dwellings")
    sqft: float | None = Field(None, description="Floor area in square feet")
    stories: int | None = Field(None, description="Number of storeys")
    cost: float | None = Field(None, description="Estimated cost in the currency of the source")
    gc_status: str | None = Field(None, description="Whether a general contractor is known")
    filed_at: AwareDatetime | None = Field(None, description="When the permit application was filed")
    permitted_at: AwareDatetime | None = Field(None, description="When the permit was issued")
    completed_at: AwareDatetime | None = Field(None, description="When the work was finished")
    detected_at: AwareDatetime | None = Field(None, description="When the project was first seen")
    last_signal_at: AwareDatetime | None = Field(
        None, description="When the project's latest signal was detected"
    )
    signals_count: int | None = Field(None, description="How many signals the project has")
    account_ids: list[str] | None = Field(None, description="Firms that take part, by id")
    contact_ids: list[str] | None = Field(None, description="Contacts of the project, by id")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class WebhookDelivery(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str = Field(..., description="The `webhook-id` of each attempt.")
    event: str
    status: str
    attempts: int = Field(..., description="Since it was made or replayed.")
    next_attempt_at: AwareDatetime | None = Field(..., description="Null unless it is pending.")
    response_status: int | None = Field(..., description="Of the last attempt; null: there was no response.")
    created_at: AwareDatetime


class WebhookView(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    view_id: str
    name: str | None = Field(..., description="Null for a View that is deleted.")
    state: str = Field(
        ...,
        description="`waiting`, `watching` and `resting` as those of an alert. `off`: the webhook is disabled, or did not choose `view.matched`. `deleted`: there is no such View anymore.",
    )
    rest: AlertRest | None = Field(
        ..., description="Since when nothing is reported, and why. Null unless `state` is `resting`."
    )


class WorkspaceAccount(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The firm's name")
    account_types: list[str] | None = Field(None, description="What the firm does")
    domains: list[str] | None = Field(None, description="The firm's internet domains")
    website: str | None = None
    icp_tier: str | None = Field(
        None, description="How well the account fits the workspace's ideal customer profile"
    )
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    atlas_score: int | None = Field(
        None, description="Computed score of the account for the workspace, 0 to 100"
    )
    atlas_trend: str | None = Field(
        None, description="Signals of the last 90 days against those of the 90 days before."
    )


class WorkspaceAccountRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `account_types`, `domains`, `website`, `icp_tier`, `workspace_status`, `notes`, `tags`, `atlas_score`, `atlas_trend`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The firm's name")
    account_types: list[str] | None = Field(None, description="What the firm does")
    domains: list[str] | None = Field(None, description="The firm's internet domains")
    website: str | None = None
    phone: str | None = None
    description: str | None = Field(None, description="What the firm says or is said of it")
    city: str | None = Field(None, description="City of the firm")
    state: str | None = Field(None, description="State or province of the firm")
    country: str | None = Field(None, description="Country of the firm")
    projects_count: int | None = Field(None, description="How many projects name the firm")
    contacts_count: int | None = Field(None, description="How many contacts work for the firm")
    signals_count: int | None = Field(None, description="How many signals name the firm")
    last_activity_at: AwareDatetime | None = Field(
        None, description="When the latest signal that names the firm was detected"
    )
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    icp_tier: str | None = Field(
        None, description="How well the account fits the workspace's ideal customer profile"
    )
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    atlas_score: int | None = Field(
        None, description="Computed score of the account for the workspace, 0 to 100"
    )
    atlas_trend: str | None = Field(
        None, description="Signals of the last 90 days against those of the 90 days before."
    )
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class WorkspaceChangeBy(BaseModel):
    """
    Who made the latest change of it on this page: one of the three.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    user_id: str | None = None
    key_id: str | None = None
    operator: bool | None = Field(
        None, description="The operator of the service, or the service itself: always `true`."
    )


class WorkspaceContact(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The person's name")
    title: str | None = Field(None, description="Position in the firm")
    email: str | None = Field(None, description="E-mail address")
    account_id: str | None = Field(None, description="The person's firm, by id")
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")


class WorkspaceContactRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `title`, `email`, `account_id`, `workspace_status`, `notes`, `tags`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The person's name")
    title: str | None = Field(None, description="Position in the firm")
    email: str | None = Field(None, description="E-mail address")
    phone: str | None = None
    role: str | None = Field(None, description="What the person does")
    status: str | None = Field(None, description="Whether the position is current")
    account_id: str | None = Field(None, description="The person's firm, by id")
    account_name: str | None = None
    city: str | None = Field(None, description="City of the person")
    state: str | None = Field(None, description="State or province of the person")
    projects_count: int | None = Field(None, description="How many projects name the person")
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class WorkspaceProject(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The project's name")
    city: str | None = Field(None, description="City of the project")
    state: str | None = Field(None, description="State or province of the project")
    stage: str | None = Field(None, description="How far the project is")
    primary_use: str | None = Field(None, description="What it is built for")
    residential_units: int | None = Field(None, description="Number of dwellings")
    last_signal_at: AwareDatetime | None = Field(
        None, description="When the project's latest signal was detected"
    )
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")


class WorkspaceProjectRow(BaseModel):
    """
    Without `fields` it has `id`, `name`, `city`, `state`, `stage`, `primary_use`, `residential_units`, `last_signal_at`, `workspace_status`, `notes`, `tags`, `updated_at`.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The project's name")
    description: str | None = Field(None, description="What is being built")
    address: str | None = Field(None, description="Street address")
    city: str | None = Field(None, description="City of the project")
    state: str | None = Field(None, description="State or province of the project")
    country: str | None = Field(None, description="Country of the project")
    stage: str | None = Field(None, description="How far the project is")
    disposition: str | None = Field(None, description="Whether the project goes ahead")
    primary_use: str | None = Field(None, description="What it is built for")
    residential_units: int | None = Field(None, description="Number of dwellings")
    sqft: float | None = Field(None, description="Floor area in square feet")
    stories: int | None = Field(None, description="Number of storeys")
    cost: float | None = Field(None, description="Estimated cost in the currency of the source")
    gc_status: str | None = Field(None, description="Whether a general contractor is known")
    filed_at: AwareDatetime | None = Field(None, description="When the permit application was filed")
    permitted_at: AwareDatetime | None = Field(None, description="When the permit was issued")
    completed_at: AwareDatetime | None = Field(None, description="When the work was finished")
    detected_at: AwareDatetime | None = Field(None, description="When the project was first seen")
    last_signal_at: AwareDatetime | None = Field(
        None, description="When the project's latest signal was detected"
    )
    signals_count: int | None = Field(None, description="How many signals the project has")
    account_ids: list[str] | None = Field(None, description="Firms that take part, by id")
    contact_ids: list[str] | None = Field(None, description="Contacts of the project, by id")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    workspace_status: str | None = Field(None, description="The workspace's own status of the record")
    notes: str | None = Field(None, description="The workspace's notes on the record")
    tags: list[str] | None = Field(None, description="The workspace's tags of the record")
    updated_at: AwareDatetime | None = Field(
        None, description="When the workspace last changed its annotations of the record"
    )
    updated_by: str | None = Field(
        None,
        description="The user who last changed the workspace's annotations of the record; null for an API key, for Atlas itself and for a deleted user",
    )


class Account(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The firm's name")
    account_types: list[str] | None = Field(None, description="What the firm does")
    domains: list[str] | None = Field(None, description="The firm's internet domains")
    website: str | None = None
    phone: str | None = None
    description: str | None = Field(None, description="What the firm says or is said of it")
    city: str | None = Field(None, description="City of the firm")
    state: str | None = Field(None, description="State or province of the firm")
    country: str | None = Field(None, description="Country of the firm")
    projects_count: int | None = Field(None, description="How many projects name the firm")
    contacts_count: int | None = Field(None, description="How many contacts work for the firm")
    signals_count: int | None = Field(None, description="How many signals name the firm")
    last_activity_at: AwareDatetime | None = Field(
        None, description="When the latest signal that names the firm was detected"
    )
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")


class AccountMatchCandidate(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    record: Account
    confidence: float = Field(
        ..., description="How surely the record is what the input describes, judged by itself."
    )
    reasons: list[MatchReason] = Field(..., description="One for each member of the input but `ref`.")


class AccountMatchResult(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    ref: str = Field(..., description="That of the input.")
    status: str = Field(
        ...,
        description="`matched`: the first candidate is well ahead of all other records; `ambiguous`: another record fits about as well, whether or not it is returned; `no_match`: there is no candidate.",
    )
    candidates: list[AccountMatchCandidate] = Field(..., description="The most confident first.")


class AccountViewDefinitionFields(BaseModel):
    """
    Conditions that must all be met.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    account_type: list[str] | None = Field(None, description="What the firm does")
    city: list[str] | None = Field(
        None, description="City of the firm; values must differ in more than case and accents."
    )
    atlas_score: ViewNumberRange | None = Field(
        None,
        description="Computed score of the account for the workspace, 0 to 100; both ends inclusive, `min` not above `max`.",
    )
    icp_tier: list[str] | None = Field(
        None, description="How well the account fits the workspace's ideal customer profile"
    )
    last_activity: ViewDateRange | None = Field(
        None,
        description="When the latest signal that names the firm was detected; whole UTC days, both inclusive, `after` not later than `before`.",
    )


class Alert(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    view_id: str
    view_name: str
    dataset: str
    state: str = Field(
        ...,
        description="`waiting`: what matches is being read. `resting`: nothing is reported; `rest` says why.",
    )
    rest: AlertRest | None = Field(
        ..., description="Since when nothing is reported, and why. Null unless `state` is `resting`."
    )
    rest_seen: bool = Field(
        ..., description="False from when the alert begins to rest until one looks: `see_view`."
    )
    new_count: int = Field(..., description="Records reported since one looked.")
    latest: int = Field(..., description="The number of the View's latest entry; 0 when there is none.")
    email: str | None = Field(..., description="How often one is mailed what is new; null: not at all.")
    created_at: AwareDatetime
    seen_at: AwareDatetime | None


class ApiKey(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str
    start: str = Field(..., description="How the text of the key begins, by which it is recognized.")
    state: str = Field(..., description="An operator restricts keys.")
    scopes: list[str]
    networks: list[str] = Field(..., description="Those that the key may be used from; none: any.")
    daily_credits: int | None = Field(..., description="Null: no budget.")
    requests_per_second: int | None = Field(..., description="Null: no limit.")
    by_operator: bool = Field(
        ...,
        description="An operator made the key: it may act in other workspaces too, and only an operator rotates it.",
    )
    created_by: str | None = Field(
        ..., description="The person who made the key, or the key that made it; null for an operator."
    )
    created_by_key: str | None = Field(..., description="The key that made it.")
    created_at: AwareDatetime
    expires_at: AwareDatetime | None = Field(..., description="Null: never.")
    revoked_at: AwareDatetime | None
    old_secret_until: AwareDatetime | None = Field(
        ..., description="Until when the secret before the last rotation is good too."
    )
    last_used_at: AwareDatetime | None = Field(..., description="In this workspace, to a minute.")
    last_network: str | None = Field(
        ...,
        description="Where that was from: an IPv4 address, or the /64 of an IPv6 address; null: not known.",
    )
    outside_policy: list[str] = Field(
        ...,
        description="What the policy of the workspace would not permit of a new key like this one; none of a key that has ended.",
    )
    secret: str | None = Field(
        None,
        description="The text of the key. In the answer to creation and rotation only, not in one to their repetition: rotate the key again.",
    )


class ApiKeyPolicy(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    scopes: list[str] | None = Field(..., description="Null: any.")
    max_days: int | None = Field(..., description="The longest life of a key. Null: any, also none.")
    networks_required: bool = Field(..., description="True if keys must be limited to networks.")
    max_daily_credits: int | None = Field(
        ..., description="The largest budget of a key, which it must have then. Null: any, also none."
    )
    updated_at: AwareDatetime | None = Field(..., description="Null: it was never set.")
    updated_by: str | None = Field(..., description="Null: nobody, or a user who was deleted.")


class AuditEvent(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: int
    at: AwareDatetime = Field(..., description="In microseconds.")
    action: str
    principal: AuditPrincipal
    network: str | None = Field(..., description="Of the client: a /24, or a /48 of IPv6. Null: not known.")
    request_id: str | None
    object: AuditEventObject
    fields: list[str] = Field(..., description="Those that changed.")
    details: dict[str, Any] = Field(
        ...,
        description="More about the change. Texts that begin with `sha256:` stand for values of persons and names.",
    )
    values: dict[str, Any] = Field(
        ..., description="The values that texts in `details` stand for, without those that were erased."
    )
    transaction: str = Field(..., description="What has the same one was changed together.")
    number: int | None = Field(
        ..., description="The place in the chain of the workspace; null: it is chained within seconds."
    )
    previous: str | None = Field(..., description="The digest of the event before.")
    digest: str | None = Field(..., description="SHA-256 of the event in its canonical form.")


class BucketCount(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    from_: float | str | None = Field(
        ..., alias="from", description="A number or a time; null at an open end."
    )
    to: float | str | None = Field(
        ..., description="As `from`; buckets of dates end before it, and it is null after the year 9999."
    )
    count: int
    measure: float | None = Field(
        None,
        description="The measure that the facet asks for; null if no value is known, or if the sum is beyond a double.",
    )


class BucketCounts(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str
    buckets: list[BucketCount]
    unknown: int = Field(..., description="Records without a value.")
    min: float | str | None = Field(..., description="The lowest value; null if there is none.")
    max: float | str | None = Field(..., description="The highest value; null if there is none.")


class Contact(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The person's name")
    title: str | None = Field(None, description="Position in the firm")
    email: str | None = Field(None, description="E-mail address")
    phone: str | None = None
    role: str | None = Field(None, description="What the person does")
    status: str | None = Field(None, description="Whether the position is current")
    account_id: str | None = Field(None, description="The person's firm, by id")
    account_name: str | None = None
    city: str | None = Field(None, description="City of the person")
    state: str | None = Field(None, description="State or province of the person")
    projects_count: int | None = Field(None, description="How many projects name the person")
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")


class ContactMatchCandidate(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    record: Contact
    confidence: float = Field(
        ..., description="How surely the record is what the input describes, judged by itself."
    )
    reasons: list[MatchReason] = Field(..., description="One for each member of the input but `ref`.")


class ContactMatchResult(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    ref: str = Field(..., description="That of the input.")
    status: str = Field(
        ...,
        description="`matched`: the first candidate is well ahead of all other records; `ambiguous`: another record fits about as well, whether or not it is returned; `no_match`: there is no candidate.",
    )
    candidates: list[ContactMatchCandidate] = Field(..., description="The most confident first.")


class ContactViewDefinition(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]
    q: str = Field(..., description="As `query` of a search request; empty: no condition.")
    fields: ContactViewDefinitionFields


class CoverageValue(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    value: str = Field(..., description="The value as a filter takes it, of a dynamic enum folded.")
    label: str = Field(
        ..., description="The label of the value, of a dynamic enum its most frequent spelling."
    )
    records: int
    newest: AwareDatetime | None = Field(
        ..., description="The latest `updated_at`, of signals `detected_at`."
    )
    known: dict[str, Any] = Field(
        ...,
        description="For each filter key, the share of these records that have a value, to four decimals.",
    )
    source: SourceTerms | None = Field(
        ...,
        description="What a source says of its data, with `by` `source`; null for values of other fields, and if it says nothing.",
    )


class CreateInvitationData(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    invitation: Invitation
    accept_url: str | None = Field(
        None,
        description="Missing in the answer to a repetition. With `replace`, the invitation can be made again.",
    )
    letter: CreateInvitationDataLetter


class Descriptor(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    dataset: str
    key: str
    kind: str
    description: str
    values: list[DescriptorValue] | None = Field(
        None,
        description="Of an enum. Of a dynamic enum the most frequent ones, with how many records have each; `tags`, each workspace's own, list none.",
    )
    sub_fields: list[SubFieldDescriptor] | None = Field(
        None, description="Of a relation: what the related records can be filtered by."
    )


class Facet(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str | None = None
    values: list[ValueCount] | None = Field(None, description="By count, then by folded value.")
    other: int | None = Field(None, description="The sum of the counts of the values that are not listed.")
    unknown: int
    buckets: list[BucketCount] | None = None
    min: float | str | None = Field(None, description="The lowest value; null if there is none.")
    max: float | str | None = Field(None, description="The highest value; null if there is none.")
    geo: list[CellCount] | None = Field(
        None,
        description="The tiles with records: by count, then from north to south, then from west to east.",
    )


class FacetCounts(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    count: int = Field(..., description="How many records match.")
    export_credits: int = Field(..., description="What reading all of them costs.")
    facets: list[Facet] = Field(..., description="In the order of the request.")


class GetUsageData(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    used_credits: int
    ceiling: int
    remaining: int
    window_hours: Literal[24]
    by_hour: list[GetUsageDataByHour] = Field(
        ...,
        description="Credits by clock hour, of the hours in which some were used; they add up to `used_credits`.",
    )
    by_tool: dict[str, Any] = Field(
        ..., description="Credits by operation id; they add up to `used_credits`."
    )
    by_key: dict[str, Any] = Field(
        ..., description="Credits by the id of the API key; the rest of `used_credits` is that of users."
    )


class GetWorkspaceData(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str
    plan: Literal["pro"]
    role: str | None = Field(..., description="The user's; null for an API key.")
    member_count: int
    created_at: AwareDatetime


class InvitationPreview(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    workspace: InvitationPreviewWorkspace
    invited_by: InvitationPreviewInvitedBy | None
    role: str
    email: str
    expires_at: AwareDatetime


class Member(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    email: str
    name: str
    role: str
    joined_at: AwareDatetime


class PivotAxis(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str
    groups: list[PivotGroup] = Field(
        ..., description="With all of their records. Records of a list of values are in several."
    )


class Presentation(BaseModel):
    """
    State of a web table, stored for it; searches do not use it.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]
    sorting: list[PresentationSorting]
    column_visibility: dict[str, Any] = Field(..., max_length=100)


class Project(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The project's name")
    description: str | None = Field(None, description="What is being built")
    address: str | None = Field(None, description="Street address")
    city: str | None = Field(None, description="City of the project")
    state: str | None = Field(None, description="State or province of the project")
    country: str | None = Field(None, description="Country of the project")
    stage: str | None = Field(None, description="How far the project is")
    disposition: str | None = Field(None, description="Whether the project goes ahead")
    primary_use: str | None = Field(None, description="What it is built for")
    residential_units: int | None = Field(None, description="Number of dwellings")
    sqft: float | None = Field(None, description="Floor area in square feet")
    stories: int | None = Field(None, description="Number of storeys")
    cost: float | None = Field(None, description="Estimated cost in the currency of the source")
    gc_status: str | None = Field(None, description="Whether a general contractor is known")
    filed_at: AwareDatetime | None = Field(None, description="When the permit application was filed")
    permitted_at: AwareDatetime | None = Field(None, description="When the permit was issued")
    completed_at: AwareDatetime | None = Field(None, description="When the work was finished")
    detected_at: AwareDatetime | None = Field(None, description="When the project was first seen")
    last_signal_at: AwareDatetime | None = Field(
        None, description="When the project's latest signal was detected"
    )
    signals_count: int | None = Field(None, description="How many signals the project has")
    account_ids: list[str] | None = Field(None, description="Firms that take part, by id")
    contact_ids: list[str] | None = Field(None, description="Contacts of the project, by id")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")


class ProjectViewDefinitionFields(BaseModel):
    """
    Conditions that must all be met.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    stage: list[str] | None = Field(None, description="How far the project is")
    primary_use: list[str] | None = Field(None, description="What it is built for")
    city: list[str] | None = Field(
        None, description="City of the project; values must differ in more than case and accents."
    )
    sqft: ViewNumberRange | None = Field(
        None, description="Floor area in square feet; both ends inclusive, `min` not above `max`."
    )
    units: ViewNumberRange | None = Field(
        None, description="Number of dwellings; both ends inclusive, `min` not above `max`."
    )
    stories: ViewNumberRange | None = Field(
        None, description="Number of storeys; both ends inclusive, `min` not above `max`."
    )
    stories_known: list[str] | None = Field(None, description="Whether the value is known.")
    cost: ViewNumberRange | None = Field(
        None,
        description="Estimated cost in the currency of the source; both ends inclusive, `min` not above `max`.",
    )
    gc_status: list[str] | None = Field(None, description="Whether a general contractor is known")
    detected: ViewDateRange | None = Field(
        None,
        description="When the project was first seen; whole UTC days, both inclusive, `after` not later than `before`.",
    )


class ReadCondition(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    field: str = Field(..., description="The key of the filter.")
    relation: str | None = Field(
        None, description="The relation whose filter it is; absent of the dataset's own."
    )
    text: str = Field(..., description="The condition, for people.")
    spans: list[ReadSpan] = Field(
        ..., description="The parts of the trimmed `query` that say it, in code points."
    )


class Reading(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    query: str | None = Field(
        None, description="The words that stay text, for `query` of a search; absent if there are none."
    )
    filters: dict[str, Any] = Field(..., description="`filters` of a search; empty if nothing is read.")
    relations: dict[str, Any] = Field(..., description="`relations` of a search.")
    sentence: str = Field(..., description="All conditions, for people; empty if nothing is read.")
    conditions: list[ReadCondition] = Field(
        ..., description="Each condition with where it stands in the text."
    )
    count: int = Field(..., description="How many records match the text that is left and all conditions.")


class Release(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    generation: str = Field(..., description="The load that searches use.")
    loaded_at: AwareDatetime = Field(..., description="When that load began.")
    datasets: ReleaseDatasets


class Signal(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    signal_type: str | None = Field(None, description="What happened")
    title: str | None = Field(None, description="The signal in one line")
    summary: str | None = Field(None, description="The signal in a few sentences")
    project_id: str | None = Field(None, description="The project it happened to, by id")
    project_name: str | None = None
    account_ids: list[str] | None = Field(None, description="Firms it names, by id")
    city: str | None = Field(None, description="City of the project when it happened")
    state: str | None = Field(None, description="State or province of the project when it happened")
    stage: str | None = Field(None, description="Stage of the project when it happened")
    occurred_at: AwareDatetime | None = Field(None, description="When it happened")
    detected_at: AwareDatetime | None = Field(None, description="When it was detected")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = None


class SignalSubscription(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    signal_type: str = Field(
        ...,
        description="- `permit_filed`: A permit application was filed\n- `permit_issued`: A permit was issued\n- `construction_started`: Work on site began\n- `project_completed`: The work was finished\n- `project_on_hold`: The project was paused\n- `project_cancelled`: The project was given up\n- `permit_expired`: The permit lapsed\n- `gc_assigned`: A general contractor became known\n- `cost_changed`: The estimated cost changed\n- `stage_changed`: The project reached another stage\n",
    )
    delivery: SignalSubscriptionDelivery
    queue_started_at: AwareDatetime
    created_at: AwareDatetime
    updated_at: AwareDatetime


class SignalWithRelated(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    signal_type: str | None = Field(None, description="What happened")
    title: str | None = Field(None, description="The signal in one line")
    summary: str | None = Field(None, description="The signal in a few sentences")
    project_id: str | None = Field(None, description="The project it happened to, by id")
    project_name: str | None = None
    account_ids: list[str] | None = Field(None, description="Firms it names, by id")
    city: str | None = Field(None, description="City of the project when it happened")
    state: str | None = Field(None, description="State or province of the project when it happened")
    stage: str | None = Field(None, description="Stage of the project when it happened")
    occurred_at: AwareDatetime | None = Field(None, description="When it happened")
    detected_at: AwareDatetime | None = Field(None, description="When it was detected")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = None
    accounts: list[Account] | None = Field(None, description="There when `include` names it.")
    project: Project | None = Field(None, description="There when `include` names it.")


class Tile(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    kind: str
    title: str
    dataset: str
    of: str = Field(
        ...,
        description="Where the records are. `view` needs `view_id`, and a tile of the kind `view` is of one.",
    )
    view_id: str | None = Field(None, description="The View, of the same dataset.")
    request: dict[str, Any] = Field(
        ...,
        description="The body of the request of the tile, without `dry_run`: of a `chart` one for facets with one facet, of a `map` one with one facet `geo`, of a `pivot` one for a pivot, of a `view` one for facets without any.",
    )


class ViewDefinitionFields(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    account_type: list[str] | None = Field(None, description="What the firm does")
    city: list[str] | None = None
    atlas_score: ViewNumberRange | None = Field(
        None,
        description="Computed score of the account for the workspace, 0 to 100; both ends inclusive, `min` not above `max`.",
    )
    icp_tier: list[str] | None = Field(
        None, description="How well the account fits the workspace's ideal customer profile"
    )
    last_activity: ViewDateRange | None = Field(
        None,
        description="When the latest signal that names the firm was detected; whole UTC days, both inclusive, `after` not later than `before`.",
    )
    role: list[str] | None = Field(None, description="What the person does")
    status: list[str] | None = Field(None, description="Whether the position is current")
    account_id: list[str] | None = Field(None, description="The person's firm, by id")
    stage: list[str] | None = Field(None, description="How far the project is")
    primary_use: list[str] | None = Field(None, description="What it is built for")
    sqft: ViewNumberRange | None = Field(
        None, description="Floor area in square feet; both ends inclusive, `min` not above `max`."
    )
    units: ViewNumberRange | None = Field(
        None, description="Number of dwellings; both ends inclusive, `min` not above `max`."
    )
    stories: ViewNumberRange | None = Field(
        None, description="Number of storeys; both ends inclusive, `min` not above `max`."
    )
    stories_known: list[str] | None = Field(None, description="Whether the value is known.")
    cost: ViewNumberRange | None = Field(
        None,
        description="Estimated cost in the currency of the source; both ends inclusive, `min` not above `max`.",
    )
    gc_status: list[str] | None = Field(None, description="Whether a general contractor is known")
    detected: ViewDateRange | None = Field(
        None,
        description="When the project was first seen; whole UTC days, both inclusive, `after` not later than `before`.",
    )


class Webhook(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    url: str
    url_digest: str = Field(..., description="The SHA-256 of the whole URL, in hexadecimal.")
    events: list[str]
    view_ids: list[str] = Field(..., description="The Views that `view.matched` is about.")
    views: list[WebhookView] = Field(
        ..., description="What becomes of each of `view_ids`, in the same order."
    )
    enabled: bool = Field(
        ..., description="False once the receiver answered 410, or failed for 24 hours. An upsert enables it."
    )
    created_at: AwareDatetime
    secret: str | None = Field(
        None,
        description="Signs deliveries by Standard Webhooks. In the answer to creation and rotation only, not in one to their repetition: rotate it again.",
    )


class WorkspaceAccountJoinRow(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    account: WorkspaceAccountRow
    project: Project | None
    contact: Contact | None


class WorkspaceChange(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    op: str = Field(..., description="`upsert`: it is new or has other values; `delete`: it is gone.")
    kind: str = Field(
        ...,
        description="What changed. `overlay`: the workspace's data on a record of its book; `membership`: a record in a Static View; `skill`: a Skill of the workspace, not a personal one.",
    )
    id: str = Field(
        ...,
        description="The record of an `overlay` or a `membership`, the user of a `member`, the workspace of a `setting`, else its own id.",
    )
    dataset: str | None = Field(None, description="Of an `overlay`, a `membership` and a `view`.")
    view_id: str | None = Field(None, description="Of a `membership`.")
    at: AwareDatetime
    by: WorkspaceChangeBy
    changed: list[str] = Field(
        ...,
        description="The fields of an `upsert` that have other values; of a new one those that have a value.",
    )


class AcceptInvitationData(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    workspace_id: str
    member: Member


class AccountJoinRow(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    account: Account
    project: Project | None
    contact: Contact | None


class AccountViewDefinition(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]
    q: str = Field(..., description="As `query` of a search request; empty: no condition.")
    fields: AccountViewDefinitionFields


class AccountWithRelated(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The firm's name")
    account_types: list[str] | None = Field(None, description="What the firm does")
    domains: list[str] | None = Field(None, description="The firm's internet domains")
    website: str | None = None
    phone: str | None = None
    description: str | None = Field(None, description="What the firm says or is said of it")
    city: str | None = Field(None, description="City of the firm")
    state: str | None = Field(None, description="State or province of the firm")
    country: str | None = Field(None, description="Country of the firm")
    projects_count: int | None = Field(None, description="How many projects name the firm")
    contacts_count: int | None = Field(None, description="How many contacts work for the firm")
    signals_count: int | None = Field(None, description="How many signals name the firm")
    last_activity_at: AwareDatetime | None = Field(
        None, description="When the latest signal that names the firm was detected"
    )
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")
    projects: list[Project] | None = Field(None, description="There when `include` names it.")
    signals: list[Signal] | None = Field(None, description="There when `include` names it.")
    contacts: list[Contact] | None = Field(None, description="There when `include` names it.")


class Board(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    workspace_id: str
    name: str
    tiles: list[Tile] = Field(..., description="In their order on the page.")
    revision: int
    created_by: str | None = Field(..., description="Null for an API key and for a deleted user.")
    updated_by: str | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class ContactWithRelated(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The person's name")
    title: str | None = Field(None, description="Position in the firm")
    email: str | None = Field(None, description="E-mail address")
    phone: str | None = None
    role: str | None = Field(None, description="What the person does")
    status: str | None = Field(None, description="Whether the position is current")
    account_id: str | None = Field(None, description="The person's firm, by id")
    account_name: str | None = None
    city: str | None = Field(None, description="City of the person")
    state: str | None = Field(None, description="State or province of the person")
    projects_count: int | None = Field(None, description="How many projects name the person")
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")
    account: Account | None = Field(None, description="There when `include` names it.")
    projects: list[Project] | None = Field(None, description="There when `include` names it.")


class Pivot(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    count: int = Field(..., description="How many records match.")
    export_credits: int = Field(..., description="What reading all of them costs.")
    cell_count: int = Field(..., description="Listed rows times listed columns.")
    tokens: int = Field(
        ..., description="What the pivot draws on the bucket of free operations; a dry run draws one."
    )
    measure: float | None = Field(
        None,
        description="The measure that the pivot asks for; null of fewer than 3 known values, or if the sum is beyond a double.",
    )
    rows: PivotAxis | None = Field(None, description="Absent of a dry run.")
    columns: PivotAxis | None = Field(None, description="Absent of a dry run and without columns.")
    cells: list[list[PivotCell]] | None = Field(
        None, description="By the group of the rows, then by that of the columns; absent without columns."
    )


class ProjectViewDefinition(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]
    q: str = Field(..., description="As `query` of a search request; empty: no condition.")
    fields: ProjectViewDefinitionFields


class ProjectWithRelated(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    name: str | None = Field(None, description="The project's name")
    description: str | None = Field(None, description="What is being built")
    address: str | None = Field(None, description="Street address")
    city: str | None = Field(None, description="City of the project")
    state: str | None = Field(None, description="State or province of the project")
    country: str | None = Field(None, description="Country of the project")
    stage: str | None = Field(None, description="How far the project is")
    disposition: str | None = Field(None, description="Whether the project goes ahead")
    primary_use: str | None = Field(None, description="What it is built for")
    residential_units: int | None = Field(None, description="Number of dwellings")
    sqft: float | None = Field(None, description="Floor area in square feet")
    stories: int | None = Field(None, description="Number of storeys")
    cost: float | None = Field(None, description="Estimated cost in the currency of the source")
    gc_status: str | None = Field(None, description="Whether a general contractor is known")
    filed_at: AwareDatetime | None = Field(None, description="When the permit application was filed")
    permitted_at: AwareDatetime | None = Field(None, description="When the permit was issued")
    completed_at: AwareDatetime | None = Field(None, description="When the work was finished")
    detected_at: AwareDatetime | None = Field(None, description="When the project was first seen")
    last_signal_at: AwareDatetime | None = Field(
        None, description="When the project's latest signal was detected"
    )
    signals_count: int | None = Field(None, description="How many signals the project has")
    account_ids: list[str] | None = Field(None, description="Firms that take part, by id")
    contact_ids: list[str] | None = Field(None, description="Contacts of the project, by id")
    source: str | None = Field(None, description="Data source")
    source_id: str | None = Field(None, description="Permit number")
    source_url: str | None = None
    latitude: float | None = None
    longitude: float | None = None
    created_at: AwareDatetime | None = Field(None, description="When the record was created")
    updated_at: AwareDatetime | None = Field(None, description="When the record last changed")
    accounts: list[Account] | None = Field(None, description="There when `include` names it.")
    signals: list[Signal] | None = Field(None, description="There when `include` names it.")
    contacts: list[Contact] | None = Field(None, description="There when `include` names it.")


class ViewDefinition(BaseModel):
    """
    `version` alone for a Static View; with `q` and `fields` for a Dynamic one, whose conditions are those of its dataset.
    """

    model_config = ConfigDict(
        extra="allow",
    )
    version: Literal[1]
    q: str | None = Field(None, description="As `query` of a search request; empty: no condition.")
    fields: ViewDefinitionFields | None = None


class View(BaseModel):
    model_config = ConfigDict(
        extra="allow",
    )
    id: str
    workspace_id: str
    dataset: str
    view_type: str
    name: str
    definition: ViewDefinition
    presentation: Presentation
    revision: int = Field(..., description="Counts the changes of name, definition and presentation.")
    created_by: str | None = Field(..., description="Null for an API key.")
    updated_by: str | None = Field(..., description="Null for an API key.")
    created_at: AwareDatetime
    updated_at: AwareDatetime
    is_favorite: bool = Field(..., description="The caller's own; false for an API key.")
    favorite_position: int | None = Field(..., description="From 0, without holes; null when it is none.")
    record_count: int | None = Field(
        None, description="Static Views only: their records that the global dataset has."
    )
