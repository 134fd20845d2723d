import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { onWorkshopThread, type WorkshopHost } from "../../src/runtime/workshop-thread.ts";
import { alignedText } from "../../src/tools/print.ts";
import { newDraft } from "../../src/tools/profile/file.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** A profile and a list, and who answers the thread's questions. */
function bench(text: string) {
  const folder = temporaryFolder();
  const list = join(folder, "list.csv");
  const profile = join(folder, "acme.yaml");
  writeFileSync(list, text);
  writeFileSync(profile, newDraft("acme", "modbus"));
  const leaving = new AbortController();
  const said: string[] = [];
  const asked: string[] = [];
  const host: WorkshopHost = {
    io: {
      out: (one) => void said.push(render(one)),
      table: (rows) => void said.push(alignedText(rows)),
      progress: () => undefined,
      ask: (question, _, choices = []) => {
        asked.push(render(question), ...choices.map((one) => render(one.text)));
        return Promise.resolve(choices[0]?.value ?? "y");
      },
      signal: leaving.signal,
    },
    liveAt: () => (entries) => Promise.resolve(entries.map(({ address }) => `value of ${String(address)}`)),
  };
  const run = () =>
    onWorkshopThread({ kind: "import", values: { folder, profile: "acme" }, operands: ["import", list] }, host);
  return { run, said, asked, profile, leave: () => leaving.abort(new Error("the agent stops")) };
}

/** A large list: more names than a profile takes, and a hundred columns. */
const LARGE = `name,address,type,${"x,".repeat(200)}\n${`a,400001,INT,${"y,".repeat(110)}\n`.repeat(8_000)}`;

describe("the thread for register-list imports", () => {
  it("imports a list while the main thread asks the user and reads the PLC's registers", async () => {
    const { run, asked, said, profile } = bench("Name,FC,Address,Type\nair,3,7,INT\n");
    expect(await run()).toBe(0);
    expect(asked).toEqual([
      "Do the list's register numbers count from 0 or from 1?",
      "air (7): holding:7 is value of holding:7 now",
      "air (7): holding:6 is value of holding:6 now",
      expect.stringContaining("Save these lines in"),
    ]);
    expect(said.join("")).toContain("The list's numbers count from 0: air (7): holding:7 is value of holding:7 now");
    expect(readFileSync(profile, "utf8")).toContain("name: air");
  });

  it("leaves the main thread responsive while a large list is read and rejected", async () => {
    const { run } = bench(LARGE);
    let turns = 0;
    const result = { isOver: false };
    const done = expect(run()).rejects.toThrow("names, more than");
    void done.finally(() => (result.isOver = true));
    while (!result.isOver) {
      await turn();
      turns += 1;
    }
    await done;
    // Reading on the main thread leaves two turns.
    expect(turns).toBeGreaterThan(100);
  });

  it("ends immediately when the agent stops, and writes nothing", async () => {
    const { run, leave, profile } = bench(LARGE);
    const before = readFileSync(profile, "utf8");
    const done = expect(run()).rejects.toThrow("the agent stops");
    await turn();
    leave();
    await done;
    expect(readFileSync(profile, "utf8")).toBe(before);
  });

  it("rejects a list with 500,000 columns", async () => {
    const { run } = bench(`${",".repeat(500_000)}${"name,".repeat(100_000)}address,type\n${"n\n".repeat(20)}`);
    await expect(run()).rejects.toThrow("line 1 has more than 256 columns");
  });
});
