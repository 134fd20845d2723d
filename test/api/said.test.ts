import fc from "fast-check";
import { expect, it } from "vitest";
import { say, SENTENCES, type SentenceCode } from "../../src/domain/sentences.ts";
import { saidOf, withSaid } from "../../src/api/said.ts";

const CODES = Object.keys(SENTENCES) as SentenceCode[];
const namesIn = (code: SentenceCode): string[] =>
  [...SENTENCES[code].matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
/** As `say` fills it in, whatever the code. */
const filled = (code: SentenceCode, args: Readonly<Record<string, string>>): string =>
  (say as (code: SentenceCode, args: Readonly<Record<string, string>>) => string)(code, args);
/** A random value for a name, which is no word of a sentence. */
const value = fc.stringMatching(/^[A-Z0-9][A-Z0-9.:-]{0,11}$/);

it.each(CODES)("%s is known again by its text, with what it was filled in with", (code) => {
  const values = fc.tuple(...namesIn(code).map(() => value));
  fc.assert(
    fc.property(values, (some) => {
      const args = Object.fromEntries(namesIn(code).map((name, index) => [name, some[index] ?? ""]));
      const text = filled(code, args);
      expect(saidOf(text)).toEqual({ code, args, text });
    }),
    { numRuns: 20 },
  );
});

it("a sentence within a sentence is told as one, and what others said isn't", () => {
  const reason = say("bind.unverified", { missing: say("bind.missing.ack") });
  expect(saidOf(reason)).toEqual({
    code: "bind.unverified",
    args: { missing: { code: "bind.missing.ack", args: {}, text: "no batch was acked" } },
    text: "not verified within 15 min: no batch was acked",
  });
  for (const text of ["", "ECONNREFUSED", "certificate has expired", "x ".repeat(2_000)])
    expect(saidOf(text)).toBeNull();
});

it("adds codes beside sentences, and leaves all else as it was", () => {
  const at = {
    reason: say("plc.busy"),
    advice: "call Ann",
    kind: "down",
    reasons: [say("fit.more_odd", { count: 2 }), "?"],
  };
  const told = withSaid({ booths: [{ plc: at }], when: null, n: 3 }) as { booths: [{ plc: { said: object } }] };
  const { said, ...rest } = told.booths[0].plc;
  expect({ ...told, booths: [{ plc: rest }] }).toEqual({ booths: [{ plc: at }], when: null, n: 3 });
  expect(said).toEqual({
    reason: { code: "plc.busy", args: {}, text: at.reason },
    reasons: [{ code: "fit.more_odd", args: { count: "2" }, text: "2 more values are odd" }, null],
  });
});
