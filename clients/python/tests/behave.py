"""Makes the calls of clients/behaviour.json. Each line of the input is a case with a base URL; each line of
the output what came of it."""

from __future__ import annotations

import json
import sys
from datetime import datetime, timedelta, timezone
from typing import Any

from atlas_client import APIError, Atlas, AtlasError, ConnectionLost, OutOfCredits, Retry, read_webhook


def call(atlas: Atlas, case: dict[str, Any]) -> dict[str, Any]:
    match case["call"]:
        case "search":
            page = atlas.projects.search(limit=2)
            out: dict[str, Any] = {"ids": [r.id for r in page.records]}
            if page.next:
                out["next"] = page.next
            if page.credits.charged:
                out["charged"] = page.credits.charged
            if page.records and page.records[0].stage:
                out["stage"] = page.records[0].stage
            return out
        case "all":
            return {"ids": [r.id for r in atlas.projects.all()]}
        case "all_with_key":
            return {"ids": [r.id for r in atlas.with_idempotency_key("mine").projects.all(max_bytes=1000)]}
        case "get":
            return {"ids": [atlas.projects.get(case.get("id", "p")).id]}
        case "get_all":
            batch = atlas.projects.get_all(["a", "b"])
            return {
                "ids": [i.data.id for i in batch.items if i.data],
                "codes": [i.error.code if i.error else "" for i in batch.items],
            }
        case "join":
            rows = atlas.joins.all(max_bytes=1000, project_by="sqft")
            return {
                "ids": [
                    f"{r.account.id} {r.project.id if r.project else ''} {r.contact.id if r.contact else ''}"
                    for r in rows
                ]
            }
        case "search_batch":
            found = atlas.search_batch([{"dataset": "projects", "limit": 1}, {"dataset": "accounts"}])
            first = found.items[0].data
            return {
                "ids": [r["id"] for i in found.items if i.data for r in i.data.records],
                "codes": [i.error.code if i.error else "" for i in found.items],
                "charged": first.credits.charged if first else 0,
            }
        case "create_view":
            return {"ids": [atlas.views.upsert(dataset="project", view_type="static", name="V").id]}
        case "change_view":
            return {"ids": [atlas.views.upsert(id="v", name="V").id]}
        case "change_revision":
            return {"ids": [atlas.views.upsert(id="v", name="V", revision=2).id]}
        case "delete_view":
            atlas.views.delete("v")
            return {"ids": []}
        case "changes":
            page = atlas.projects.changes("c1", records=True)
            return {
                "ids": [c.id for c in page.changes],
                "ops": [c.op for c in page.changes],
                "next": page.next,
            }
        case "follow":
            for _ in atlas.projects.follow("c1"):
                pass
        case "members":
            return {"ids": [x.id for x in atlas.members.list()]}
        case "skills":
            return {"ids": [x.id for x in atlas.skills.find("q")]}
        case "invite":
            invited = atlas.invitations.create("a@a.example", "member", replace=True)
            return {"ids": [invited.invitation.id]}
        case "favorite":
            return {"ids": [atlas.favorites.upsert("v", position=0).id]}
        case "unsubscribe":
            atlas.subscriptions.delete("s")
            return {"ids": []}
        case "accept":
            return {"ids": [atlas.invitations.accept("t").workspace_id]}
        case "create_webhook":
            return {"ids": [atlas.webhooks.upsert("https://a.example/", ["record.changed"]).id]}
        case "change_webhook":
            return {"ids": [atlas.webhooks.upsert("https://a.example/", ["record.changed"], id="h").id]}
        case "test_webhook":
            return {"ids": [atlas.webhooks.test("h").id]}
        case "replay":
            return {"ids": [atlas.webhooks.replay("h", "d").id]}
        case "replay_between":
            now = datetime.now(timezone.utc)
            return {"count": atlas.webhooks.replay_between("h", now - timedelta(hours=1), now)}
        case "queue":
            queued = atlas.queue.search(in_book=True)
            return {"ids": [x.id for x in queued.records], "unread": queued.unread}
        case "dismiss":
            items = atlas.queue.dismiss(["a", "b"]).items
            return {"codes": [i.error.code if i.error else "" for i in items]}
        case "workspace_changes":
            changed = atlas.changes("c1")
            return {
                "ids": [c.id for c in changed.changes],
                "ops": [c.op for c in changed.changes],
                "next": changed.next,
            }
        case "follow_workspace":
            for _ in atlas.follow("c1"):
                pass
        case "coverage":
            return {"ids": [v.value for v in atlas.coverage("projects", "stage")]}
        case "match":
            (found,) = atlas.accounts.match([{"ref": "r", "name": "n"}], candidates=2).results
            return {"ids": [c.record.id for c in found.candidates], "codes": [found.status]}
        case "read_webhook":
            event = read_webhook(case["secret"], case["headers"], case["received"].encode())
            # Many frameworks give the body as text.
            assert read_webhook(case["secret"], case["headers"], case["received"]) == event
            return {"ids": [event.data["id"]], "type": event.type}
    raise ValueError(case["call"])


def outcome(case: dict[str, Any]) -> dict[str, Any]:
    with Atlas(case["base"], api_key="k", retry=Retry(**case["retry"])) as atlas:
        try:
            return call(atlas, case)
        except OutOfCredits as e:
            return {"code": e.code, "status": e.status, "used": e.used, "ceiling": e.ceiling}
        except APIError as e:
            out: dict[str, Any] = {"code": e.code, "status": e.status}
            if e.issues:
                out["issues"] = [".".join(i.path) for i in e.issues]
            if e.merged_into:
                out["merged_into"] = e.merged_into
            if e.current:
                out["current"] = e.current["workspace_status"]
            return out
        except ConnectionLost:
            return {"lost": True}
        except AtlasError:
            return {"failed": True}


for line in sys.stdin:
    print(json.dumps(outcome(json.loads(line))), flush=True)
