import { expect, it } from "vitest";
import { historyText } from "../../src/cli/history.ts";
import { answerReport, requestAt, boxAnswer, localBooth, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 08:00 in Denver: a standard cycle begins. */
const START = Date.UTC(2026, 2, 2, 15);

interface Reading {
  readonly value: unknown;
  readonly system_time: string;
  readonly quality?: string;
}

interface History {
  readonly data: Readonly<Record<string, readonly Reading[]>>;
  readonly total: number;
}

it.each([
  ["its own clock is right", null],
  ["its clock starts in 1970", 12_000],
])(
  "a gateway without service and NTP shows its readings as uncertain, even after a restart of the agent, if %s",
  async (_, wall) => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
    if (wall !== null) site.clock.reboot(wall);
    site.clock.setSynced(false);
    site.service.way.down = true;
    await site.start();
    await site.clock.run(16 * MINUTE_MS);
    const following = openSource(folder, site.clock.wall()).source.reader;
    const ever = { start: 0, end: Number.MAX_SAFE_INTEGER };
    const [info] = following.streams();
    expect(following.stages(info?.stream ?? "", ever).length).toBeGreaterThan(0);
    site.kill();
    await site.start();
    await site.clock.run(10 * MINUTE_MS);
    await site.stop();

    const now = site.clock.wall();
    const { source, close } = openSource(folder, now);
    const window = { start: new Date(now - 26 * MINUTE_MS).toISOString(), end: new Date(now).toISOString() };
    // A reader that was used before has the same data as a new one that folds everything.
    const { reader, stream } = source;
    expect(following.state(stream)).toEqual(reader.state(stream));
    for (const kind of ["m", "c", "d", "f", "v", "i"] as const) {
      expect(following.facts(stream, kind, ever)).toEqual(reader.facts(stream, kind, ever));
    }
    expect(reader.facts(stream, "m", ever).every(({ quality }) => quality === "uncertain")).toBe(true);
    const modes = boxAnswer(source, "duration_by_mode", window)["modes"] as { mode: string; duration: number }[];
    const seen = modes.filter(({ mode }) => mode !== "No Data").reduce((sum, { duration }) => sum + duration, 0);
    expect(seen).toBeGreaterThan(25);

    // Each mode with minutes has readings in the history.
    const asked = { ...window, tags: "mode", limit: "1000", coverage: "true" };
    const history = boxAnswer(source, "history", asked) as unknown as History & { page: number; pages: number };
    const read = history.data["mode"] ?? [];
    expect(new Set(read.map(({ value }) => value)).size).toBe(modes.filter(({ mode }) => mode !== "No Data").length);
    expect(new Set(read.map(({ quality }) => quality))).toEqual(new Set(["uncertain"]));
    const [, ...lines] = historyText(history as never, { tz: "UTC", units: new Map() })
      .trimEnd()
      .split("\n");
    expect(lines.slice(0, -1).every((line) => line.endsWith("  uncertain"))).toBe(true);
    // Without `coverage`, the answer has the service's shape.
    const plain = boxAnswer(source, "history", { ...asked, coverage: "false" }) as unknown as History;
    expect(plain.total).toBe(history.total);
    expect(Object.keys(plain.data["mode"]?.[0] ?? {})).toEqual(["value", "system_time"]);

    const before = { tags: "mode", before: window.end };
    const latest = boxAnswer(source, "latest_values_at", before) as { data: Record<string, { value: string }> };
    expect(latest.data["mode"]?.value).toBe(String(read.at(-1)?.value));

    const path = "/api/booths/booth-1/export_csv";
    const csv = answerReport(
      requestAt({ path, query: { ...window, tags: "mode" }, booths: [localBooth(source)], now_ms: now }),
      source.reader,
    );
    const rows = Array.from(csv.body).join("").trimEnd().split("\n").slice(1);
    expect(rows).toHaveLength(history.total);
    expect(rows.every((row) => row.endsWith(",uncertain"))).toBe(true);
    close();
    site.close();
  },
);
