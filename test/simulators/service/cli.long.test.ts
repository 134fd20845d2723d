import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clockFileText, clockFromNow } from "../../../simulators/clock.ts";
import { serviceCommand } from "../../../simulators/service/cli.ts";

describe("the command booth-sim service", () => {
  let folder = "";
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "service-"))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const runCommand = async (argv: readonly string[], signal = AbortSignal.abort()) => {
    const out: string[] = [];
    const err: string[] = [];
    const code = await serviceCommand(argv, { out: (line) => out.push(line), err: (line) => err.push(line), signal });
    return { code, out, err };
  };
  const free = ["--port", "0", "--mqtt-port", "0"];

  it("prints its help, and starts and stops the service", async () => {
    expect(await runCommand(["--help"])).toMatchObject({ code: 0, err: [] });
    const { code, out } = await runCommand([...free, "--data", folder, "--serial", "ABCD1234", "--api-key", "k"]);
    expect([code, out[0]]).toEqual([
      0,
      expect.stringMatching(/^service http:\/\/127\.0\.0\.1:\d+, broker mqtt:\/\/127\.0\.0\.1:\d+$/),
    ]);
  });

  it("reports each invalid argument in one sentence", async () => {
    expect(await runCommand(["--port", "x"])).toMatchObject({
      code: 2,
      err: ["--port must be a port from 0 to 65535 (see --help)"],
    });
    expect((await runCommand(["--nonsense"])).code).toBe(2);
    expect(await runCommand(["--seed", "x"])).toMatchObject({ code: 2, err: ['there is no seed "x" (see --help)'] });
    for (const name of ["api-key", "admin-key"]) {
      const err = [`--${name} needs --serial, because a key belongs to the site of that booth (see --help)`];
      expect(await runCommand([`--${name}`, "secret"])).toMatchObject({ code: 2, err });
    }
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", () => resolve()));
    const { port } = taken.address() as AddressInfo;
    const busy = await runCommand(["--port", String(port), "--mqtt-port", "0", "--data", folder]);
    expect(busy).toMatchObject({
      code: 1,
      err: [
        `Port ${port} is taken by another program; choose another with --port, --mqtt-port, --admin-port or --vitals-port.`,
      ],
    });
    taken.close();
    const file = join(folder, "file");
    writeFileSync(file, "");
    const unwritable = await runCommand([...free, "--data", join(file, "x")]);
    expect(unwritable).toMatchObject({
      code: 1,
      err: [`The folder ${join(file, "x")} can't be written; choose another with --data.`],
    });
  });

  it("stops immediately while it seeds the demo data", async () => {
    const stopping = new AbortController();
    const shown: string[] = [];
    const out: string[] = [];
    const err: string[] = [];
    const show = (text: string): void => {
      shown.push(text);
      stopping.abort(new Error("stopped"));
    };
    const io = { out: (line: string) => out.push(line), err: (line: string) => err.push(line), show };
    const argv = [...free, "--data", folder, "--seed", "demo"];
    expect(await serviceCommand(argv, { ...io, signal: stopping.signal })).toBe(1);
    expect([out, err, shown.length]).toEqual([[], ["The service can't start: stopped."], 1]);
    expect(shown[0]).toMatch(/^\[=> {23}\] 1 of 50 booths, [\d,]+ records$/);
  });

  it("takes its time from the file given with --clock-file", async () => {
    const clock = join(folder, "clock.json");
    writeFileSync(clock, clockFileText(clockFromNow(1, Date.UTC(2030, 0, 1))));
    const ended = new AbortController();
    let date: string | null = "";
    const io = {
      err: () => undefined,
      signal: ended.signal,
      out: (line: string) => {
        const url = /http:\S+(?=,)/.exec(line)?.[0] ?? "";
        void fetch(`${url}/api/booths`).then((answer) => {
          date = answer.headers.get("date");
          ended.abort();
        });
      },
    };
    expect(await serviceCommand([...free, "--data", folder, "--clock-file", clock], io)).toBe(0);
    expect(date).toContain("2030");
  });
});
