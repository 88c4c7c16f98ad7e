// Makes the calls of TestGeneratedClients with the client that hey-api generates.
import { client } from "./client/client.gen";
import { getProject, searchProjects, searchViewRecords, upsertView, upsertWorkspaceAccount } from "./client/index";

client.setConfig({ baseUrl: process.env.ATLAS_BASE!, auth: process.env.ATLAS_TOKEN! });

async function main() {
  const found = await searchProjects({
    body: {
      filters: { cost: { value: [10_000, null] }, stage: { value: ["permitted", "under_construction"] } },
      sort: { field: "cost", order: "desc" },
    },
  });
  const projects = found.data!.data;
  if (!Array.isArray(projects)) throw new Error("a dry run");
  const missing = await getProject({ path: { id: "00000000-0000-0000-0000-000000000000" } });
  const account = await upsertWorkspaceAccount({ body: { match: { domain: "one.example" }, icp_tier: "tier_1" } });
  const created = await upsertView({
    body: {
      dataset: "project",
      view_type: "dynamic",
      name: "hey-api",
      definition: { version: 1, q: "", fields: { stage: ["permitted"] } },
    },
  });
  const made = created.data!.data.view;
  const rows = await searchViewRecords({ path: { id: made.id }, body: {} });
  const records = rows.data!.data;
  if (!("dataset" in records) || records.dataset !== "project") throw new Error(JSON.stringify(records));

  console.log(
    JSON.stringify({
      search_projects: projects.map((p) => p.id),
      get_project: (missing.error as { error: { code: string } }).error.code,
      upsert_workspace_account: account.data!.data.icp_tier,
      upsert_view: (made.definition.fields as { stage?: string[] }).stage,
      search_view_records: records.records.map((r) => r.id),
    }),
  );
}

void main();
