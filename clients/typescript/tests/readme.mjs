// Compiles the examples of the README as one module, and runs them.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const root = join(import.meta.dirname, "..");
const text = readFileSync(join(root, "README.md"), "utf8");
const examples = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code);
mkdirSync(join(root, "node_modules", ".cache"), { recursive: true });
const dir = mkdtempSync(join(root, "node_modules", ".cache", "readme-"));
try {
  const code = examples.join("\n").replaceAll('"atlas-client"', JSON.stringify(join(root, "dist", "index.js")));
  writeFileSync(join(dir, "readme.mts"), `${code}\nexport { added, newest, start, status, told };\n`);
  const options = "--strict --target es2022 --module nodenext --types node --skipLibCheck".split(" ");
  execFileSync(process.execPath, [join(root, "node_modules", "typescript", "bin", "tsc"), ...options, join(dir, "readme.mts")], { cwd: root, stdio: "inherit" });
  const { added, newest, start, status, told } = await import(pathToFileURL(join(dir, "readme.mjs")));
  if (added.failed !== 0 || newest.length !== 60 || !start.caughtUp || !told.caughtUp || status !== 401) throw new Error("the examples ended otherwise");
  console.log("the examples ran");
} finally {
  rmSync(dir, { recursive: true });
}
