// Writes the licenses of all packages that the bundle holds parts of.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const { outputs } = JSON.parse(readFileSync("node_modules/meta.json"));
const inputs = Object.keys(outputs["vega-lite.js"].inputs);
const names = new Set(inputs.filter((i) => i.startsWith("node_modules/")).map((i) => i.split("/")[1]));
const texts = [...names].sort().map((name) => {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`));
  const file = readdirSync(folder).find((f) => /^licen[sc]e/i.test(f));
  const text = file && existsSync(`${folder}/${file}`) ? readFileSync(`${folder}/${file}`, "utf8") : "";
  return `${name} ${version} (${license})\n\n${text.trim()}\n`;
});
writeFileSync("LICENSES.txt", texts.join("\n----\n\n"));
