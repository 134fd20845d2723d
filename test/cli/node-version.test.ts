import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runProgram } from "../support/processes.ts";

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
/** A module that makes this Node report an old version. */
const OLD_NODE = `data:text/javascript,${encodeURIComponent(
  `Object.defineProperty(process.versions, "node", { value: "20.20.2" });
   Object.defineProperty(process, "version", { value: "v20.20.2" });`,
)}`;

it.each([
  ["src/main.cjs", "booth-gateway"],
  ["src/main.ts", "booth-gateway"],
  ["simulators/main.cjs", "booth-sim"],
  ["simulators/main.ts", "booth-sim"],
])("%s exits with 69 and a one-line message if the Node version is too old", async (file, name) => {
  const { code, out, err } = await runProgram(pathOf(file), ["--help"], { node: ["--import", OLD_NODE] });
  expect({ code, out }).toEqual({ code: 69, out: "" });
  expect(err).toMatch(new RegExp(`^${name} needs Node 24 and was started with v20\\.20\\.2: [^\\n]+\\n$`));
});
