// Makes the calls of clients/behaviour.json. Each line of the input is a case with a base URL; each line of the
// output what came of it.
import { createInterface } from "node:readline";
import { APIError, Atlas, AtlasError, ConnectionLost } from "../dist/index.js";

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
    case "get":
      return { ids: [(await atlas.projects.get(c.id ?? "p")).id] };
    case "get_all": {
      const { items } = await atlas.projects.getAll(["a", "b"]);
      return { ids: items.flatMap((i) => (i.data ? [i.data.id] : [])), codes: items.map((i) => i.error?.code ?? "") };
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
    return await call(new Atlas({ baseUrl: c.base, apiKey: "k", retry: { first: 0.001 } }), c);
  } catch (e) {
    if (e instanceof APIError) {
      return {
        code: e.code,
        status: e.status,
        ...(e.issues.length > 0 && { issues: e.issues.map((i) => i.path.join(".")) }),
        ...(e.credits && { used: e.credits.used, ceiling: e.credits.ceiling }),
      };
    }
    if (e instanceof ConnectionLost) return { lost: true };
    if (e instanceof AtlasError) return { failed: true };
    throw e;
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await outcome(JSON.parse(line))));
