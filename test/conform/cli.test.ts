import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { conformCommand } from "../../simulators/conform/cli.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { freePort } from "../system/mosquitto.ts";

async function run(
  ...argv: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const out: string[] = [];
  const err: string[] = [];
  const { signal } = new AbortController();
  const code = await conformCommand(argv, { out: (line) => out.push(line), err: (line) => err.push(line), signal });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

it.each([
  [[], "one URL"],
  [["ftp://127.0.0.1", "--key", "k"], "no URL of http"],
  [["http://127.0.0.1", "--key", "k", "--level", "most"], "--level must be one of document, provisioning, full"],
  [["http://127.0.0.1", "--key", "k"], "needs --serial"],
  [["http://127.0.0.1", "--key", "k", "--serial", "A1", "--timeout-ms", "soon"], "--timeout-ms"],
  [["http://127.0.0.1", "--key", "k", "--color"], "Unknown option"],
])("booth-sim conform %j ends with 2 and says what is wrong", async (argv, words) => {
  const { code, err } = await run(...argv);
  expect(code).toBe(2);
  expect(err).toContain(words);
});

it("booth-sim conform reports a URL where nothing answers, instead of a failure of each check", async () => {
  const { code, out, err } = await run(`http://127.0.0.1:${await freePort()}`, "--key", "k", "--level", "document");
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(/^Nothing answers at .* Check the URL/);
});

it("booth-sim conform writes each check with its exchanges to text, JUnit XML and HTML, without the key", async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json").writeHead(401).end('{"error":"<no> & \\"never\\""}');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  ofTest(() => server.close());
  const folder = temporaryFolder();
  const files = { junit: join(folder, "report.xml"), html: join(folder, "report.html") };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const reports = ["--junit", files.junit, "--html", files.html];
  const { code, out } = await run(url, "--key", "secret-key-of-the-test", "--level", "document", ...reports);
  expect(code).toBe(1);
  expect(out).toMatch(/^pass +D01 /m);
  expect(out).toMatch(
    /^fail +D08 [^]*received: status 401\n +expected: status 404\n +contract: contract\/openapi.yaml/m,
  );
  expect(out).toMatch(/^not supported D07 .*--user-key/m);
  expect(out).toMatch(/level document: 3 passed, \d+ failed, \d+ not supported$/);
  const junit = readFileSync(files.junit, "utf8");
  expect(junit).toMatch(/<testsuites tests="57" failures="\d+" skipped="\d+">/);
  expect(junit).toContain("&lt;no&gt; &amp; \\&quot;never");
  const html = readFileSync(files.html, "utf8");
  expect(html).toContain('<td class="fail">fail</td>');
  for (const text of [out, junit, html]) expect(text).not.toContain("secret-key-of-the-test");
});
