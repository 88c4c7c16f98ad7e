// An agent that calls what it is told: a line of standard input is {"tool", "arguments"},
// and a line of standard output is what came of it. The first line lists the tools.
//
//   ATLAS_AGENT_URL      the address for agents, with ATLAS_API_KEY
//   ATLAS_AGENT_COMMAND  or the program that speaks the protocol by `mcp`
//   ATLAS_AGENT_ASKED    that the user can be asked, and agrees
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { ATLAS_AGENT_URL: url, ATLAS_AGENT_COMMAND: command, ATLAS_AGENT_ASKED: asked, ATLAS_API_KEY: key } = process.env;
const client = new Client({ name: "agent", version: "1" }, { capabilities: asked ? { elicitation: {} } : {} });
let questions = 0;
if (asked) {
  client.setRequestHandler(ElicitRequestSchema, async () => {
    questions++;
    return { action: "accept", content: { confirm: true } };
  });
}
await client.connect(
  command
    ? new StdioClientTransport({ command, args: ["mcp"], env: process.env, stderr: "inherit" })
    : new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }),
);
const say = (what) => console.log(JSON.stringify(what));
const { tools } = await client.listTools(); // from now on the SDK validates results by their schemas
say({ tools: tools.map((t) => t.name) });
for await (const line of createInterface({ input: process.stdin })) {
  const { tool, arguments: args } = JSON.parse(line);
  try {
    const r = await client.callTool({ name: tool, arguments: args });
    say({ failed: r.isError ?? false, text: r.content[0].text, structured: r.structuredContent, questions });
  } catch (e) {
    say({ failed: true, text: String(e), questions });
  }
}
await client.close();
