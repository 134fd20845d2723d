import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ask, openPage, runningAgent, sessionAt } from "./box-http.ts";
import { eventually } from "../support/eventually.ts";
import { freshBox } from "../support/real-site.ts";

/** The profile workshop over the local API, as the page uses it. */
async function workshop() {
  const site = await freshBox();
  await runningAgent(site);
  const { url, pin } = await openPage(site);
  const box = url ?? "";
  const key = await sessionAt(box, pin);
  const put = (path: string, body: unknown, method = "POST") => ask(`${box}${path}`, { method, key, body });
  /** Runs an action, answers each question with yes, and returns the events. `leave`: the event at which the reader leaves. */
  const run = async (wish: object, leave?: string): Promise<[string, Record<string, unknown>][]> => {
    const leaving = new AbortController();
    const answer = await fetch(`${box}/workshop/run`, {
      method: "POST",
      headers: { authorization: key, "content-type": "application/json" },
      body: JSON.stringify(wish),
      signal: leaving.signal,
    });
    const events: [string, Record<string, unknown>][] = [];
    let text = "";
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const [, name = "", data = "{}"] = /^event: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (name === leave) {
          leaving.abort();
          return events;
        }
        events.push([name, JSON.parse(data) as Record<string, unknown>]);
        if (name === "ask") await put("/workshop/answer", { reply: "y" });
      }
    }
    return events;
  };
  await put("/setup/draft", { draft: { link: { modbus: { host: "127.0.0.1", port: site.plc.port } } } }, "PUT");
  return { site, box, put, run, file: join(site.dataDir, "profiles", "acme.yaml") };
}

const LIST = `Name;Modbus Address;Data Type;Unit;Codes
Lufttemperatur_Kühlung;428673;REAL;C;
Zähler;nowhere;UDINT;;
Mode;400001;UINT;;0=off|3=spray
`;

describe("the profile workshop over the local API", () => {
  it("imports a register list, reports each unusable row with its line, and exports the list again", async () => {
    const { put, run, box, file } = await workshop();
    expect((await ask(`${box}/workshop`)).status).toBe(401);
    expect(await run({ action: "new", what: "acme", from: "click" })).toContainEqual([
      "done",
      { ok: true, list: null, answer: expect.objectContaining({ missing: [expect.any(String)] }) as object },
    ]);
    const again = await run({ action: "new", what: "acme" });
    expect(again.at(-1)).toEqual(["failed", { error: expect.stringContaining("already exists") as string }]);
    expect((await put("/workshop/list", { name: "liste ä.csv", text: LIST }, "PUT")).status).toBe(200);
    const events = await run({ action: "import" });
    const tables = events.flatMap(([name, { rows }]) => (name === "table" ? (rows as readonly string[][]) : []));
    const said = tables.map((cells) => cells.join("  ")).join("\n");
    expect(said).toContain("line 3 skipped: ");
    expect(events.at(-1)?.[0]).toBe("done");
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/# sent-liste__\.csv:2, /);
    expect(text.match(/- \{ name: /g)).toHaveLength(2);
    // A list that is too long is rejected.
    expect((await put("/workshop/list", { name: "a", text: "x".repeat(5_000_001) }, "PUT")).status).toBe(400);
    expect((await put("/workshop/list", { name: "a", text: "x".repeat(8_000_000) }, "PUT")).status).toBe(413);
    const { body } = await put("/workshop", undefined, "GET");
    expect(body).toMatchObject({ profiles: [{ name: "acme", tags: 2, missing: [] }] });
    const [, { list }] = (await run({ action: "export" })).at(-1) ?? ["", {}];
    expect(list).toMatch(/^Name,Modbus Address,.*\r\n.*,428673,FC=03,float32/);
  });

  it("stops a run when the client disconnects, writes nothing, and accepts the next run", async () => {
    const { put, run, file } = await workshop();
    await run({ action: "new", what: "acme", from: "click" });
    const before = readFileSync(file, "utf8");
    await run({ action: "learn", what: "modes", range: "holding:0-9", modes: "off,spray", for: "1s" }, "ask");
    await eventually("the bench is free", async () => {
      const [last] = (await run({ action: "test", for: "1s" })).slice(-1);
      return String(last?.[1]["error"]).includes("somebody else") ? undefined : true;
    });
    expect((await put("/workshop/answer", { reply: "y" })).status).toBe(409);
    expect(readFileSync(file, "utf8")).toBe(before);
  });
});
