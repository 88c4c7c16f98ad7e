"""What a workspace has beside its book and its Views: people, alerts, webhooks, Skills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

from pydantic import BaseModel

from . import _models as m
from ._connection import Connection, decoded
from ._source import MAX_PAGE, Batch, Searchable, batch_of, without_none

M = TypeVar("M", bound=BaseModel)


def segment(text: str) -> str:
    """One element of a path."""
    return "/" + quote(text, safe="")


def walk(
    connection: Connection, method: Literal["GET", "POST"], path: str, name: str, request: dict[str, Any]
) -> Iterator[Any]:
    """The elements of a list with offset paging. If it changes meanwhile, one can repeat or be skipped."""
    offset = 0
    while True:
        page = {**request, "limit": MAX_PAGE, "offset": offset}
        sent: dict[str, Any] = {"params": page} if method == "GET" else {"body": page}
        answer = decoded(connection.send(method, path, **sent))
        elements = answer["data"][name]
        yield from elements
        offset += len(elements)
        if not elements or len(elements) < answer["metadata"]["limit"]:
            return


class Resource(Generic[M]):
    """Things of a workspace under one path, named ``one`` and ``many`` in answers."""

    def __init__(self, connection: Connection, path: str, one: str, many: str, model: type[M]) -> None:
        self._connection, self._path = connection, path
        self._one, self._many, self._model = one, many, model

    def list(self) -> Iterator[M]:
        """All of them, page by page."""
        return map(self._model.model_validate, walk(self._connection, "GET", self._path, self._many, {}))

    def _put(self, path: str, body: Any, *, method: str = "POST") -> M:
        data = self._connection.data(method, self._path + path, body=body)
        return self._model.model_validate(data[self._one])

    def _batch(self, path: str, body: Any, read: Any = None) -> Batch[Any]:
        return batch_of(decoded(self._connection.send("POST", self._path + path, body=body)), read)

    def _delete(self, id: str) -> Any:
        return self._connection.data("DELETE", self._path + segment(id))


class Favorites(Resource[m.View]):
    """The user's ordered pointers to Views. An API key has none: APIError ``user_identity_required``."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/favorite-views", "view", "views", m.View)

    def upsert(self, view_id: str, *, position: int | None = None) -> m.View:
        """Makes a View a Favorite, or moves it; position counts from 0."""
        return self._put("/upsert", without_none(view_id=view_id, position=position))

    def upsert_all(self, inputs: Sequence[Any]) -> Batch[m.View]:
        """``upsert`` of 1 to 100 ``{"view_id": …, "position": …}``, together."""
        return self._batch(
            "/upsert/batch", {"inputs": list(inputs)}, lambda data: m.View.model_validate(data["view"])
        )

    def delete(self, view_id: str) -> None:
        """Removes a Favorite, not the View. There may be none."""
        self._delete(view_id)

    def delete_all(self, view_ids: Sequence[str]) -> Batch[None]:
        """``delete`` of 1 to 100 Favorites."""
        return self._batch("/delete/batch", {"ids": list(view_ids)})


class Alerts(Resource[m.Alert]):
    """The user's alerts on Dynamic Views. An API key has none: APIError ``user_identity_required``."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/alerts", "alert", "alerts", m.Alert)

    def entries(self, view_id: str | None = None) -> Iterator[m.AlertEntry]:
        """What the alerts reported, the latest first, of one View or of all."""
        request = without_none(view_id=view_id)
        return map(
            m.AlertEntry.model_validate,
            walk(self._connection, "GET", self._path + "/entries", "entries", request),
        )

    def upsert(self, view_id: str) -> m.Alert:
        """Switches an alert on a View on. What matches now is known."""
        return self._put("/upsert", {"view_id": view_id})

    def mail(self, view_id: str, frequency: str | None) -> m.Alert:
        """Sets how often one is mailed what an alert finds: ``instant``, ``daily``, ``weekly``, or
        None for not at all. Switches the alert on.
        """
        return self._put("/upsert", {"view_id": view_id, "email": frequency})

    def delete(self, view_id: str) -> None:
        """Switches an alert off. There may be none."""
        self._delete(view_id)

    def see(self, view_id: str, *, through: int | None = None) -> m.Alert:
        """Notes that the user looked at the entries of a View, up to a number or all."""
        path = f"/workspace/views{segment(view_id)}/seen"
        data = self._connection.data("POST", path, body=without_none(through=through))
        return m.Alert.model_validate(data["alert"])


class Members(Resource[m.Member]):
    """The users in the workspace."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/members", "member", "members", m.Member)

    def set_role(self, user_id: str, role: Literal["owner", "admin", "member"]) -> m.Member:
        """Changes the role of a member."""
        return self._put(segment(user_id), {"role": role}, method="PATCH")

    def remove(self, user_id: str) -> bool:
        """Removes a member; False when there was none."""
        return bool(self._delete(user_id)["deleted"])

    def sign_out(self, user_id: str) -> None:
        """Ends all sessions of a member in the workspace, within 5 s. Raises APIError ``not_found``.
        They may sign in again; their access tokens and API keys stay valid."""
        self._connection.data("POST", self._path + segment(user_id) + "/sign-out")


class Invitations(Resource[m.Invitation]):
    """The open invitations, the newest first."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/invitations", "invitation", "invitations", m.Invitation)

    def create(
        self, email: str, role: Literal["admin", "member"], *, replace: bool = False
    ) -> m.CreateInvitationData:
        """Invites an address. No other answer has the ``accept_url``. replace revokes a pending invitation
        of the address in the same step."""
        body = without_none(email=email, role=role, replace=replace or None)
        return m.CreateInvitationData.model_validate(self._connection.data("POST", self._path, body=body))

    def revoke(self, id: str) -> None:
        """Ends an open invitation, or raises APIError ``not_found``."""
        self._delete(id)

    def preview(self, token: str) -> m.InvitationPreview:
        """What accepting would do, with the same errors. It changes nothing."""
        data = self._connection.data("POST", self._path + "/preview", body={"token": token})
        return m.InvitationPreview.model_validate(data)

    def accept(self, token: str) -> m.AcceptInvitationData:
        """Adds the user of the access token to the workspace; token is the parameter of the link."""
        data = self._connection.data("POST", self._path + "/accept", body={"token": token}, stored=False)
        return m.AcceptInvitationData.model_validate(data)


class Subscriptions(Resource[m.SignalSubscription]):
    """The types of signals that the workspace follows."""

    def __init__(self, c: Connection) -> None:
        super().__init__(
            c, "/workspace/signal-subscriptions", "subscription", "subscriptions", m.SignalSubscription
        )

    def upsert(self, signal_type: str, **delivery: Any) -> m.SignalSubscription:
        """Subscribes, or changes ``channels`` and ``frequency``."""
        return self._put("/upsert", without_none(signal_type=signal_type, delivery=delivery or None))

    def delete(self, id: str) -> None:
        """Ends a subscription. There may be none."""
        self._delete(id)


class Queue(Searchable[m.SignalWithRelated]):
    """The signals of the subscribed types that arrived since. A search also takes ``in_book`` and
    ``dismissed``, and no ``sort``: the newest arrival comes first. ``unread`` of a page counts the whole
    queue."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/signal-queue", m.SignalWithRelated)

    def dismiss(self, ids: Sequence[str]) -> Batch[None]:
        """Dismisses 1 to 100 signals for the whole workspace."""
        return self._batch("/dismiss/batch", ids)

    def restore(self, ids: Sequence[str]) -> Batch[None]:
        """Takes 1 to 100 dismissed signals back."""
        return self._batch("/restore/batch", ids)

    def _batch(self, path: str, ids: Sequence[str]) -> Batch[None]:
        body = {"ids": list(ids)}
        return batch_of(decoded(self._connection.send("POST", self._path + path, body=body)))


class APIKeys(Resource[m.ApiKey]):
    """The keys of the workspace, for owners, admins and keys with ``workspace:admin``."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/api-keys", "api_key", "api_keys", m.ApiKey)

    def create(self, name: str, scopes: Sequence[str], **more: Any) -> m.ApiKey:
        """Makes a key, whose ``secret`` only this answer has. It ends after 90 days unless
        ``expires_in_days`` or ``never_expires`` say otherwise; ``networks``, ``daily_credits`` and
        ``requests_per_second`` limit it."""
        return self._put("", {"name": name, "scopes": list(scopes), **more})

    def rotate(self, id: str, *, old_secret_hours: int | None = None, **end: Any) -> m.ApiKey:
        """Gives a key a new ``secret``. The one before is good too for 24 hours, or as many as said.
        ``expires_in_days`` or ``never_expires`` change its end."""
        return self._put(segment(id) + "/rotate", without_none(old_secret_hours=old_secret_hours, **end))

    def revoke(self, id: str) -> None:
        """Ends a key, with those that it made. Raises APIError ``not_found``."""
        self._delete(id)

    def actions(self, id: str) -> Iterator[m.ApiKeyAction]:
        """What a key changed, the latest first, for users who are owners or admins."""
        path = self._path + segment(id) + "/actions"
        return map(m.ApiKeyAction.model_validate, _cursored(self._connection, path, "actions", {}))

    def undo(
        self,
        id: str,
        *,
        ids: Sequence[int] | None = None,
        since: datetime | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        dry_run: bool | None = None,
    ) -> tuple[list[m.ApiKeyActionOutcome], str | None]:
        """Takes back what a revoked key did, where nobody else has changed it since: the actions with
        the ids, those since a time, or all. The second value is the cursor of what is left. Raises
        APIError ``api_key_active`` for a key that is not revoked."""
        body = without_none(
            ids=list(ids) if ids is not None else None,
            since=instant(since) if since is not None else None,
            limit=limit,
            cursor=cursor,
            dry_run=dry_run,
        )
        answer = decoded(self._connection.send("POST", self._path + segment(id) + "/undo", body=body))
        actions = [m.ApiKeyActionOutcome.model_validate(a) for a in answer["data"]["actions"]]
        return actions, answer["metadata"]["next"]

    def policy(self) -> m.ApiKeyPolicy:
        """What the workspace permits of new and rotated keys."""
        return m.ApiKeyPolicy.model_validate(self._connection.data("GET", self._path + "/policy")["policy"])

    def set_policy(self, **limits: Any) -> m.ApiKeyPolicy:
        """Replaces the policy, for users who are owners or admins: ``scopes``, ``max_days``,
        ``networks_required``, ``max_daily_credits``. What is omitted is not limited."""
        data = self._connection.data("POST", self._path + "/policy", body=limits)
        return m.ApiKeyPolicy.model_validate(data["policy"])


class Identity:
    """How people of the workspace sign in, for users who are owners or admins; only owners set and
    delete the provider."""

    _path = "/workspace/identity"

    def __init__(self, c: Connection) -> None:
        self._connection = c

    def provider(self) -> m.IdentityProvider | None:
        """The OpenID provider, None for none."""
        return self._provider(self._connection.data("GET", self._path + "/provider"))

    def redirect_uri(self) -> str | None:
        """The address that the provider is to permit, None for a service without a public address."""
        uri: str | None = self._connection.data("GET", self._path + "/provider")["redirect_uri"]
        return uri

    def set_provider(self, issuer: str, client_id: str, **more: Any) -> m.IdentityProvider | None:
        """Puts a provider in place: ``client_secret``, ``scopes``, ``required`` (only in a session of
        the provider), ``role_claim``, ``roles``, ``default_role``, ``session_hours``,
        ``idle_minutes``, ``revision``."""
        body = {"issuer": issuer, "client_id": client_id, **more}
        return self._provider(self._connection.data("POST", self._path + "/provider", body=body))

    def delete_provider(self) -> None:
        """Deletes the provider; its sessions end. Raises APIError ``not_found``."""
        self._connection.data("DELETE", self._path + "/provider")

    def domains(self) -> list[m.IdentityDomain]:
        """The domains of e-mail addresses, by name."""
        data = self._connection.data("GET", self._path + "/domains")
        return [m.IdentityDomain.model_validate(d) for d in data["domains"]]

    def add_domain(self, domain: str) -> m.IdentityDomain:
        """Adds a domain, with the DNS text record that proves it."""
        data = self._connection.data("POST", self._path + "/domains", body={"domain": domain})
        return m.IdentityDomain.model_validate(data["domain"])

    def check_domain(self, domain: str) -> m.IdentityDomain:
        """Looks for the record now. Raises APIError ``not_found``, ``forbidden`` if another workspace
        has proved the domain."""
        data = self._connection.data("POST", self._path + "/domains" + segment(domain) + "/check")
        return m.IdentityDomain.model_validate(data["domain"])

    def delete_domain(self, domain: str) -> None:
        """Deletes a domain; sessions of its addresses end. Raises APIError ``not_found``."""
        self._connection.data("DELETE", self._path + "/domains" + segment(domain))

    @staticmethod
    def _provider(data: Any) -> m.IdentityProvider | None:
        found = data["provider"]
        return None if found is None else m.IdentityProvider.model_validate(found)


class Provisioning:
    """The settings of SCIM, for users who are owners or admins."""

    def __init__(self, c: Connection) -> None:
        self.tokens = ScimTokens(c)
        self.people = ProvisionedPeople(c)
        self.groups = ProvisionedGroups(c)


class ScimTokens(Resource[m.ScimToken]):
    """Tokens that the identity provider of the workspace has for SCIM."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/identity/scim/tokens", "token", "tokens", m.ScimToken)

    def create(self, name: str, *, expires_in_days: int | None = None) -> m.ScimToken:
        """Makes a token, whose ``secret`` only this answer has, for a year or as many days as said."""
        return self._put("", without_none(name=name, expires_in_days=expires_in_days))

    def revoke(self, id: str) -> None:
        """Ends a token. Raises APIError ``not_found``."""
        self._delete(id)


class ProvisionedPeople(Resource[m.ProvisionedPerson]):
    """The people whom the identity provider has, by their user names."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/identity/scim/people", "person", "people", m.ProvisionedPerson)


class ProvisionedGroups(Resource[m.ProvisionedGroup]):
    """The groups of the identity provider, by name."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/identity/scim/groups", "group", "groups", m.ProvisionedGroup)

    def set_role(self, id: str, role: str) -> m.ProvisionedGroup:
        """Says what members of a group are in the workspace: ``admin``, ``member``, or ``none`` for
        nothing. Raises APIError ``not_found``."""
        return self._put(segment(id), {"role": role})


class Audit:
    """The audit log of the workspace, for owners, admins and keys with ``workspace:admin``."""

    def __init__(self, c: Connection) -> None:
        self._connection = c

    def events(
        self,
        *,
        action: str | None = None,
        principal_id: str | None = None,
        object_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        order: Literal["newest", "oldest"] | None = None,
    ) -> Iterator[m.AuditEvent]:
        """The events that there are, the newest first, or with ``oldest`` in the order of the chain.
        An ``action`` is one, such as ``api_key.created``, or a kind of object, such as ``api_key``."""
        request = without_none(
            action=action, principal_id=principal_id, object_id=object_id, order=order, **_span(since, until)
        )
        return map(
            m.AuditEvent.model_validate, _cursored(self._connection, "/workspace/audit", "events", request)
        )

    def delivered(
        self, principal_id: str | None = None, *, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[m.RecordsDelivered]:
        """How many records whom was given, by operation and hour, the latest first."""
        request = without_none(principal_id=principal_id, **_span(since, until))
        return map(
            m.RecordsDelivered.model_validate,
            walk(self._connection, "GET", "/workspace/audit/records", "delivered", request),
        )


def _cursored(c: Connection, path: str, name: str, request: dict[str, Any]) -> Iterator[Any]:
    """The elements of a list whose answers have the cursor of the next page."""
    request["limit"] = 2 * MAX_PAGE
    while True:
        answer = decoded(c.send("GET", path, params=request))
        yield from answer["data"][name]
        if answer["metadata"]["next"] is None or not answer["data"][name]:
            return
        request["cursor"] = answer["metadata"]["next"]


def _span(since: datetime | None, until: datetime | None) -> dict[str, Any]:
    return {
        name: instant(at) if at is not None else None for name, at in (("since", since), ("until", until))
    }


class Boards(Resource[m.Board]):
    """Pages of charts, pivots, maps and Views that the workspace shares."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/boards", "board", "boards", m.Board)

    def get(self, id: str) -> m.Board:
        """Raises APIError ``not_found``."""
        answer = self._connection.data("GET", self._path + segment(id))
        return m.Board.model_validate(answer["board"])

    def upsert(
        self,
        name: str | None = None,
        tiles: Sequence[Any] | None = None,
        *,
        id: str | None = None,
        revision: int | None = None,
    ) -> m.Board:
        """Creates a board, or with an id changes one. With a revision, APIError ``revision_conflict``
        if it has another."""
        return self._put("/upsert", without_none(id=id, name=name, tiles=tiles, revision=revision))

    def delete(self, id: str) -> None:
        """Deletes a board for everybody. Raises APIError ``not_found``."""
        self._delete(id)


class Webhooks(Resource[m.Webhook]):
    """The addresses that are notified of events, for owners, admins and API keys."""

    def __init__(self, c: Connection) -> None:
        super().__init__(c, "/workspace/webhooks", "webhook", "webhooks", m.Webhook)

    def upsert(self, url: str, events: Sequence[str], *, id: str | None = None) -> m.Webhook:
        """Creates a webhook, whose ``secret`` only this answer has, or with an id changes and enables one."""
        return self._put("/upsert", without_none(id=id, url=url, events=list(events)))

    def delete(self, id: str) -> None:
        """Raises APIError ``not_found``."""
        self._delete(id)

    def rotate(self, id: str) -> m.Webhook:
        """Gives a webhook a new secret. The one before signs too for 24 hours."""
        return self._put(segment(id) + "/rotate", None)

    def test(self, id: str) -> m.WebhookDelivery:
        """Sends the event ``webhook.test``."""
        return self._delivery(segment(id) + "/test")

    def deliveries(self, id: str) -> Iterator[m.WebhookDelivery]:
        """The log of a webhook, the newest first."""
        path = self._path + segment(id) + "/deliveries"
        return map(m.WebhookDelivery.model_validate, walk(self._connection, "GET", path, "deliveries", {}))

    def replay(self, id: str, delivery_id: str) -> m.WebhookDelivery:
        """Replays a delivery, with the same webhook-id."""
        return self._delivery(f"{segment(id)}/deliveries{segment(delivery_id)}/replay")

    def replay_between(self, id: str, start: datetime, end: datetime) -> int:
        """Replays the deliveries created from a time to before another; returns how many."""
        replayed, since = 0, instant(start)
        while True:
            body = {"from": since, "to": instant(end)}
            path = self._path + segment(id) + "/replay"
            data = self._connection.data("POST", path, body=body)
            replayed += int(data["replayed"])
            if data.get("next") is None:
                return replayed
            since = data["next"]

    def _delivery(self, path: str) -> m.WebhookDelivery:
        data = self._connection.data("POST", self._path + path)
        return m.WebhookDelivery.model_validate(data["delivery"])


class Skills:
    """Bundles of instructions, personal or the workspace's."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(
        self, query: str | None = None, *, scope: Literal["personal", "workspace"] | None = None
    ) -> Iterator[m.ListedSkill]:
        """Published Skills, of words of their name or description."""
        return self._walk("find", query=query, scope=scope)

    def list(
        self,
        *,
        scope: Literal["personal", "workspace"] | None = None,
        status: Literal["draft", "published"] | None = None,
    ) -> Iterator[m.ListedSkill]:
        """All Skills that the caller may see, drafts included."""
        return self._walk("list", scope=scope, status=status)

    def get(self, locator: str) -> m.Skill:
        """A Skill with its content. Raises APIError ``skill_not_found``."""
        return self._one("get", {"locator": locator})

    def create(
        self,
        *,
        scope: Literal["personal", "workspace"],
        name: str,
        description: str,
        content: str,
        slug: str | None = None,
    ) -> m.Skill:
        """Creates a draft."""
        body = without_none(scope=scope, name=name, description=description, content=content, slug=slug)
        return self._one("create", body)

    def _walk(self, what: str, **request: Any) -> Iterator[m.ListedSkill]:
        found = walk(self._connection, "POST", f"/workspace/skills/{what}", "skills", without_none(**request))
        return map(m.ListedSkill.model_validate, found)

    def _one(self, what: str, body: Any) -> m.Skill:
        data = self._connection.data("POST", f"/workspace/skills/{what}", body=body)
        return m.Skill.model_validate(data["skill"])


def instant(at: datetime) -> str:
    """A time as the service takes it. One without a zone is in local time."""
    return at.astimezone().isoformat()
