import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { saidOf } from "../../src/api/said.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadProfile } from "../../src/config/profile.ts";
import { parseAddress } from "../../src/config/profile-address.ts";
import { say } from "../../src/domain/sentences.ts";
import { unitFindings } from "../../src/tools/doctor/box.ts";
import { type Reached, serverFindings, type Step, targetOf } from "../../src/tools/doctor/network.ts";

/** Each area's sentences have their codes: what is said is known again as a whole, or in its parts. */

const PROFILES = new URL("../../config/profiles/", import.meta.url);

it("every tag of a shipped profile is called something that other languages have a word for", () => {
  const files = readdirSync(PROFILES).filter((name) => name.endsWith(".yaml"));
  const labels = files.flatMap((name) => {
    const { tags } = loadProfile(fileURLToPath(new URL(name, PROFILES)));
    return tags.filter(({ name: own, label }) => label !== own).map(({ label }) => label);
  });
  expect(labels.length).toBeGreaterThan(60);
  expect([...new Set(labels)].filter((label) => saidOf(label) === null)).toEqual([]);
});

it.each(["10001", "999999", "holdng:4", "abc", "0x100", "holding:70000"])(
  "says by code what is wrong with %s",
  (at) => {
    const fault = parseAddress(at);
    expect("message" in fault && saidOf(fault.message) !== null).toBe(true);
  },
);

it("a problem in a file is reported in parts: its position, the mistake, the nearest valid word", () => {
  const message = say("config.unknown_key", { key: "labl" });
  const hint = say("config.did_you_mean", { name: "label" });
  const error = new ConfigError("acme.yaml", [
    { line: 3, column: 5, path: "tags[0].labl", message, hint, text: "  x" },
  ]);
  expect(saidOf(error.brief())).toEqual([
    ...["acme.yaml:3:5", ": ", "tags[0].labl", ": "],
    ...[{ code: "config.unknown_key", args: { key: "labl" }, text: message }, " ("],
    ...[{ code: "config.did_you_mean", args: { name: "label" }, text: hint }, ")"],
  ]);
  const several: unknown = saidOf(error.message);
  const texts = Array.isArray(several) ? (several as readonly (string | { readonly text: string })[]) : [];
  expect(texts.map((one) => (typeof one === "string" ? one : one.text)).join("")).toBe(error.message);
});

describe("doctor", () => {
  it.each(["DNS", "TCP", "proxy", "TLS", "HTTP"] as readonly Step[])(
    "says by code what to do where %s fails",
    (step) => {
      const reached: Reached = { kind: "failed", step, code: "ECONNREFUSED", reason: "x" };
      const target = targetOf("https://service.example", undefined);
      const findings = serverFindings("service", { target, reached }, { now: 0, checks_clock: true });
      expect(findings.flatMap(({ said, todo = "" }) => [said, todo]).filter((text) => saidOf(text) === null)).toEqual(
        [],
      );
    },
  );

  it("says by code why the unit doesn't run", () => {
    const shown =
      "LoadState=loaded\nActiveState=failed\nNRestarts=3\nUnitFileState=disabled\nWatchdogUSec=0\nResult=exit-code";
    const told = unitFindings(shown)
      .flatMap(({ said }) => said)
      .filter((text) => text.includes(" "));
    expect(told.length).toBeGreaterThan(2);
    expect(told.filter((text) => saidOf(text) === null)).toEqual([]);
  });
});
