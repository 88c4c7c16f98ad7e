// Makes the calls of clients/behaviour.json. Each line of the input is a case with a base URL; each line of the
// output what came of it.
import { createInterface } from "node:readline";
import { APIError, Atlas, AtlasError, ConnectionLost, readWebhook } from "../dist/index.js";

async function call(atlas, c) {
  switch (c.call) {
    case "search": {
      const page = await atlas.projects.search({ limit: 2 });
      return {
        ids: page.records.map((r) => r.id),
        ...(page.next && { next: page.next }),
        ...(page.credits.charged && { charged: page.credits.charged }),
        ...(page.records[0]?.stage && { stage: page.records[0].stage }),
      };
    }
    case "all":
      return { ids: await ids(atlas.projects.all({})) };
    case "all_with_key":
      return { ids: await ids(atlas.withIdempotencyKey("mine").projects.all({ max_bytes: 1000 })) };
    case "get":
      return { ids: [(await atlas.projects.get(c.id ?? "p")).id] };
    case "get_all": {
      const { items } = await atlas.projects.getAll(["a", "b"]);
      return { ids: items.flatMap((i) => (i.data ? [i.data.id] : [])), codes: items.map((i) => i.error?.code ?? "") };
    }
    case "join": {
      const ids = [];
      for await (const r of atlas.joins.all({ max_bytes: 1000, project_by: "sqft" }))
        ids.push(`${r.account.id} ${r.project?.id ?? ""} ${r.contact?.id ?? ""}`);
      return { ids };
    }
    case "search_batch": {
      const { items } = await atlas.searchBatch([{ dataset: "projects", limit: 1 }, { dataset: "accounts" }]);
      return {
        ids: items.flatMap((i) => (i.data ? i.data.records.map((r) => r.id) : [])),
        codes: items.map((i) => i.error?.code ?? ""),
        charged: items[0].data.credits.charged,
      };
    }
    case "create_view":
      return { ids: [(await atlas.views.upsert({ dataset: "project", view_type: "static", name: "V" })).id] };
    case "change_view":
      return { ids: [(await atlas.views.upsert({ id: "v", name: "V" })).id] };
    case "change_revision":
      return { ids: [(await atlas.views.upsert({ id: "v", name: "V", revision: 2 })).id] };
    case "delete_view":
      await atlas.views.delete("v");
      return { ids: [] };
    case "changes": {
      const page = await atlas.projects.changes({ cursor: "c1", records: true });
      return { ids: page.changes.map((x) => x.id), ops: page.changes.map((x) => x.op), next: page.next };
    }
    case "follow":
      for await (const _ of atlas.projects.follow("c1"));
      break;
    case "members":
      return { ids: await ids(atlas.members.list()) };
    case "skills":
      return { ids: await ids(atlas.skills.find({ query: "q" })) };
    case "invite":
      return { ids: [(await atlas.invitations.create({ email: "a@a.example", role: "member", replace: true })).invitation.id] };
    case "favorite":
      return { ids: [(await atlas.favorites.upsert({ view_id: "v", position: 0 })).id] };
    case "unsubscribe":
      await atlas.subscriptions.delete("s");
      return { ids: [] };
    case "accept":
      return { ids: [(await atlas.invitations.accept("t")).workspace_id] };
    case "create_webhook":
      return { ids: [(await atlas.webhooks.upsert({ url: "https://a.example/", events: ["record.changed"] })).id] };
    case "change_webhook":
      return { ids: [(await atlas.webhooks.upsert({ id: "h", url: "https://a.example/", events: ["record.changed"] })).id] };
    case "test_webhook":
      return { ids: [(await atlas.webhooks.test("h")).id] };
    case "replay":
      return { ids: [(await atlas.webhooks.replay("h", "d")).id] };
    case "replay_between":
      return { count: await atlas.webhooks.replayBetween("h", new Date(Date.now() - 3_600_000), new Date()) };
    case "queue": {
      const page = await atlas.queue.search({ in_book: true });
      return { ids: page.records.map((r) => r.id), unread: page.unread };
    }
    case "dismiss":
      return { codes: (await atlas.queue.dismiss(["a", "b"])).items.map((i) => i.error?.code ?? "") };
    case "workspace_changes": {
      const page = await atlas.changes({ cursor: "c1" });
      return { ids: page.changes.map((x) => x.id), ops: page.changes.map((x) => x.op), next: page.next };
    }
    case "follow_workspace":
      for await (const _ of atlas.follow("c1"));
      break;
    case "coverage":
      return { ids: (await atlas.coverage({ dataset: "projects", by: "stage" })).map((v) => v.value) };
    case "match": {
      const [found] = (await atlas.accounts.match({ inputs: [{ ref: "r", name: "n" }], candidates: 2 })).results;
      return { ids: found.candidates.map((x) => x.record.id), codes: [found.status] };
    }
    case "read_webhook": {
      const event = await readWebhook(c.secret, c.headers, c.received);
      return { ids: [event.data.id], type: event.type };
    }
  }
  throw new Error(c.call);
}

async function ids(records) {
  const all = [];
  for await (const r of records) all.push(r.id);
  return all;
}

async function outcome(c) {
  try {
    return await call(new Atlas({ baseUrl: c.base, apiKey: "k", retry: c.retry }), c);
  } catch (e) {
    if (e instanceof APIError) {
      return {
        code: e.code,
        status: e.status,
        ...(e.issues.length > 0 && { issues: e.issues.map((i) => i.path.join(".")) }),
        ...(e.mergedInto && { merged_into: e.mergedInto }),
        ...(e.current && { current: e.current.workspace_status }),
        ...(e.credits && { used: e.credits.used, ceiling: e.credits.ceiling }),
      };
    }
    if (e instanceof ConnectionLost) return { lost: true };
    if (e instanceof AtlasError) return { failed: true };
    throw e;
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await outcome(JSON.parse(line))));
