// Compiles the examples of the README as one module, and runs them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compile, root } from "./compile.mjs";

const text = readFileSync(join(root, "README.md"), "utf8");
const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
const dir = mkdtempSync(join(tmpdir(), "readme-"));
try {
  writeFileSync(join(dir, "readme.mts"), `${examples.join("\n")}\nexport { added, newest, start, status, changed };\n`);
  compile(dir);
  const { added, newest, start, status, changed } = await import(pathToFileURL(join(dir, "readme.mjs")));
  if (added.failed !== 0 || newest.length !== 60 || !start.caughtUp || !changed.caughtUp || status !== 401)
    throw new Error("the examples ended otherwise");
  console.log("the examples ran");
} finally {
  rmSync(dir, { recursive: true });
}
