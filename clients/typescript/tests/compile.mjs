// Compiles the programs of a folder, *.mts, against the built client.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "..");

export function compile(dir) {
  const files = readdirSync(dir)
    .filter((name) => name.endsWith(".mts"))
    .map((name) => join(dir, name));
  for (const file of files) {
    writeFileSync(
      file,
      `${readFileSync(file, "utf8").replaceAll('"atlas-client"', JSON.stringify(join(root, "dist", "index.js")))}\nexport {};\n`,
    );
  }
  const options = "--strict --noUncheckedIndexedAccess --target es2022 --module nodenext --types node --skipLibCheck".split(" ");
  execFileSync(
    process.execPath,
    [join(root, "node_modules", "typescript", "bin", "tsc"), ...options, "--typeRoots", join(root, "node_modules", "@types"), ...files],
    { cwd: root, stdio: "inherit" },
  );
}

if (process.argv[1] === import.meta.filename) compile(process.argv[2]);
