// Makes the calls of TestGeneratedClients with the types that openapi-typescript
// generates.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

type Schemas = components["schemas"];

// Bodies that the service refuses.
// @ts-expect-error: no such stage
export const stage: Schemas["ProjectSearchRequest"] = { filters: { stage: { value: "nonsense" } } };
// @ts-expect-error: a value without its filter
export const bare: Schemas["ProjectSearchRequest"] = { filters: { stage: "permitted" } };
// @ts-expect-error: a filter without a value
export const empty: Schemas["ProjectSearchRequest"] = { filters: { stage: {} } };
// @ts-expect-error: no such filter
export const filter: Schemas["ProjectSearchRequest"] = { filters: { colour: { value: "red" } } };
// @ts-expect-error: a number is no text
export const range: Schemas["ProjectSearchRequest"] = { filters: { cost: { value: ["1", null] } } };
// @ts-expect-error: no such order
export const order: Schemas["AccountSearchRequest"] = { sort: { field: "name", order: "up" } };
// @ts-expect-error: neither an id nor a match
export const nameless: Schemas["WorkspaceAccountUpsert"] = { notes: "Whose?" };
// @ts-expect-error: an item of another kind
export const item: Schemas["UpsertWorkspaceAccountsBatchRequest"] = { inputs: [{ project_id: "x" }] };
// @ts-expect-error: a Dynamic View without a definition
export const view: Schemas["ViewUpsert"] = { dataset: "project", view_type: "dynamic", name: "x" };

const client = createClient<paths>({
  baseUrl: process.env.ATLAS_BASE,
  headers: { Authorization: `Bearer ${process.env.ATLAS_TOKEN}` },
});

// The same in calls, none of which is made: openapi-fetch infers their types from what is
// given.
export const refused = () => {
  const search = "/data/projects/search";
  // @ts-expect-error: a value without its filter
  void client.POST(search, { body: { filters: { stage: "permitted" } } });
  // @ts-expect-error: several values without their filter
  void client.POST(search, { body: { filters: { stage: ["permitted"] } } });
  // @ts-expect-error: a number without its filter
  void client.POST(search, { body: { filters: { cost: 10_000 } } });
  // @ts-expect-error: a filter without a value
  void client.POST(search, { body: { filters: { stage: {} } } });
  // @ts-expect-error: no such member of a filter
  void client.POST(search, { body: { filters: { stage: { valu: "permitted" } } } });
  // @ts-expect-error: no such stage
  void client.POST(search, { body: { filters: { stage: { value: "nonsense" } } } });
};

const found = await client.POST("/data/projects/search", {
  body: {
    filters: { cost: { value: [10_000, null] }, stage: { value: ["permitted", "under_construction"] } },
    sort: { field: "cost", order: "desc" },
  },
});
const projects = found.data!.data;
if (!Array.isArray(projects)) throw new Error("a dry run");
const missing = await client.GET("/data/projects/{id}", { params: { path: { id: "00000000-0000-0000-0000-000000000000" } } });
const account = await client.POST("/workspace/accounts/upsert", {
  body: { match: { domain: "one.example" }, icp_tier: "tier_1" },
});
const created = await client.POST("/workspace/views/upsert", {
  body: {
    dataset: "project",
    view_type: "dynamic",
    name: "TypeScript",
    definition: { version: 1, q: "", fields: { stage: ["permitted"] } },
  },
});
const made = created.data!.data.view;
const rows = await client.POST("/workspace/views/{id}/records/search", { params: { path: { id: made.id } }, body: {} });
const records = rows.data!.data;
if (!("dataset" in records) || records.dataset !== "project") throw new Error(JSON.stringify(records));

console.log(
  JSON.stringify({
    search_projects: projects.map((p) => p.id),
    get_project: missing.error!.error.code,
    upsert_workspace_account: account.data!.data.icp_tier,
    upsert_view: made.definition.fields!.stage,
    search_view_records: records.records.map((r) => r.id),
  }),
);
