import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Runs `script` in a separate process. `loaded()` returns the number of modules of node-opcua that it has loaded. */
async function child(script: string): Promise<string> {
  const hooks = `
    import { registerHooks } from "node:module";
    const seen = new Set();
    registerHooks({ resolve: (name, context, next) => {
      const found = next(name, context);
      if (/node_modules.node-opcua/.test(found.url)) seen.add(found.url);
      return found;
    } });
    const loaded = () => seen.size;
    ${script}`;
  const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", hooks]);
  expect(stderr).toBe("");
  return stdout;
}

test("the agent without an OPC UA booth doesn't load node-opcua", async () => {
  expect(await child(`await import("./src/runtime/compose.ts"); process.stdout.write(String(loaded()));`)).toBe("0");
});

test("opening an OPC UA link loads node-opcua, which writes nothing to the console", async () => {
  const script = `
    const { opcuaDriver } = await import("./src/acquisition/opcua/driver.ts");
    const { opcuaPki } = await import("./src/acquisition/opcua/pki.ts");
    const before = loaded();
    const address = { endpoint: "opc.tcp://127.0.0.1:1", security_policy: "Basic256Sha256", allow_insecure: false };
    const pki = opcuaPki({ dir: "/nowhere", wall: () => 0 });
    const driver = opcuaDriver({ address, profile: { groups: {}, tags: [], quirks: {} }, pki, wall: () => 0 });
    const kind = await driver.open(new AbortController().signal).catch((error) => error.kind);
    await driver.close();
    process.stdout.write(JSON.stringify({ before, after: loaded() > 10, kind }));`;
  expect(JSON.parse(await child(script))).toEqual({ before: 0, after: true, kind: "refused" });
});
