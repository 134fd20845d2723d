import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";
import { say } from "./say.ts";

const LIST = `Name,Address,FC,Type,Word order,Codes,Unit
mode,400001,3,WORD,,0=off; 1=idle; 3=spray,
cycle_count,400003,3,UDINT,CDAB,,
air_temperature,400005,3,REAL,CDAB,,°C
exhaust_minutes,400007,3,UDINT,ABCD,,minutes
burner_on,000001,1,BOOL,,,
`;

/** A text of the profile, the misspelled one, and the word that was meant. */
const MISTAKES = [
  ["protocol: modbus", "modbsu", "modbus"],
  ["word_order: low_first", "low_frist", "low_first"],
  ["role: air_temperature", "air_temprature", "air_temperature"],
  ["type: float32", "flaot32", "float32"],
  ['"3": spray', "sprya", "spray"],
  ["group: fast", "fsat", "fast"],
  ["filter: exhaust_filter", "exhaust_fliter", "exhaust_filter"],
  ["address: holding:4", "holdng:4", "holding"],
  ["poll_interval_ms: 1000", "pol_interval_ms: 1000", "poll_interval_ms"],
  ["label: Air temperature", "labl: Air temperature", "label"],
  ["retained: true", "retaned: true", "retained"],
  ["unit_id: 1", "unitid: 1", "unit_id"],
] as const;

async function made(): Promise<string> {
  const folder = temporaryFolder();
  const config = join(folder, "gateway.yaml");
  writeFileSync(join(folder, "list.csv"), LIST);
  await say(["profile", "new", "acme", "--config", config]);
  const said = await say(["profile", "import", join(folder, "list.csv"), "--yes", "--config", config]);
  expect(said).toMatchObject({ code: 0, err: "" });
  return join(folder, "profiles", "acme.yaml");
}

describe("the check of a profile that was made by commands", () => {
  it("reports the profile as valid in text and in JSON", async () => {
    const file = await made();
    expect(await say(["check", file])).toEqual({
      code: 0,
      out: `${file} is in order: acme 0.1.0, 5 tags, 3 codes of modes\n`,
      err: "",
    });
    expect(JSON.parse((await say(["check", file, "--json"])).out)).toMatchObject({
      ok: true,
      profile: "acme 0.1.0",
      tags: 5,
    });
    expect(await say(["check", `${file}x`])).toMatchObject({ code: 78, out: "" });
  });

  it.each(MISTAKES)(
    "reports line, column and the closest word if %j is replaced by the misspelled %j",
    async (right, wrong, meant) => {
      const file = await made();
      const text = readFileSync(file, "utf8");
      const at = text.indexOf(right);
      expect(at, right).toBeGreaterThanOrEqual(0);
      const isKey = wrong.includes(": ");
      const mistyped = isKey ? wrong : `${right.slice(0, right.indexOf(": ") + 2)}${wrong}`;
      writeFileSync(file, `${text.slice(0, at)}${mistyped}${text.slice(at + right.length)}`);
      const { code, out, err } = await say(["check", file]);
      expect({ code, out }).toEqual({ code: 78, out: "" });
      const before = text.slice(0, at).split("\n");
      const column = (before.at(-1)?.length ?? 0) + (isKey ? 0 : right.indexOf(": ") + 2) + 1;
      expect(err).toContain(`${file}:${before.length}:${column}: `);
      expect(err).toContain(`did you mean "${meant}"?`);
    },
  );
});
