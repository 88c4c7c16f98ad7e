// Makes the calls of TestGeneratedClients with the client that orval generates.
import { getProject, searchProjects, searchViewRecords, upsertView, upsertWorkspaceAccount } from "./client";

const caller: RequestInit = { headers: { Authorization: `Bearer ${process.env.ATLAS_TOKEN}` } };

// @ts-expect-error: a value without its filter
export const refused = () => searchProjects({ filters: { stage: "permitted" } });

async function main() {
  const found = await searchProjects(
    {
      filters: { cost: { value: [10_000, null] }, stage: { value: ["permitted", "under_construction"] } },
      sort: { field: "cost", order: "desc" },
    },
    undefined,
    caller,
  );
  if (found.status !== 200) throw new Error(JSON.stringify(found));
  const projects = found.data.data;
  if (!Array.isArray(projects)) throw new Error("a dry run");
  const missing = await getProject("00000000-0000-0000-0000-000000000000", undefined, caller);
  if (missing.status !== 404) throw new Error(JSON.stringify(missing));
  const account = await upsertWorkspaceAccount({ match: { domain: "one.example" }, icp_tier: "tier_1" }, undefined, caller);
  if (account.status !== 200) throw new Error(JSON.stringify(account));
  const created = await upsertView(
    {
      dataset: "project",
      view_type: "dynamic",
      name: "orval",
      definition: { version: 1, q: "", fields: { stage: ["permitted"] } },
    },
    undefined,
    caller,
  );
  if (created.status !== 200) throw new Error(JSON.stringify(created));
  const made = created.data.data.view;
  const rows = await searchViewRecords(made.id, {}, undefined, caller);
  if (rows.status !== 200) throw new Error(JSON.stringify(rows));
  const records = rows.data.data;
  if (!("dataset" in records) || records.dataset !== "project") throw new Error(JSON.stringify(records));

  console.log(
    JSON.stringify({
      search_projects: projects.map((p) => p.id),
      get_project: missing.data.error.code,
      upsert_workspace_account: account.data.data.icp_tier,
      upsert_view: (made.definition.fields as { stage?: string[] }).stage,
      search_view_records: records.records.map((r) => r.id),
    }),
  );
}

void main();
