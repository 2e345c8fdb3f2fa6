// Bundle the editor, and write down what is in it: versions, licences, and the bundle's hash.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = "../probe_sql/serve/console/static/editor.js";
const made = await build({
  entryPoints: ["editor.js"],
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
  write: false,
  banner: { js: "/* CodeMirror 6 and Lezer, MIT licence: see editor.LICENSES.txt. Made by `make vendor`. */" },
});
const code = made.outputFiles[0].text;
writeFileSync(out, code);

const names = [...new Set(Object.keys(made.metafile.inputs)
  .map((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1])
  .filter(Boolean))].sort();
const texts = names.map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const file = ["LICENSE", "LICENSE.md", "LICENCE"].map((n) => `node_modules/${name}/${n}`).find(existsSync);
  return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : "no licence file"}\n`;
});
writeFileSync("../probe_sql/serve/console/static/editor.LICENSES.txt", texts.join("\n----------\n\n"));
const digest = createHash("sha256").update(code).digest("hex");
writeFileSync("editor.sha256", `${digest}  editor.js\n`);
console.log(`editor.js: ${code.length} bytes of ${names.length} packages, sha256 ${digest}`);
