import { describe, expect, it } from "vitest";
import type { ProfileMode } from "../../../src/domain/booth.ts";
import { codeWithout, modeFindings, type Stay } from "../../../src/tools/rules/profile-modes.ts";

/** Returns three readings of all addresses in a mode. A list gives the values reading by reading. */
function stay(mode: ProfileMode, places: Readonly<Record<string, number | readonly number[]>>): Stay {
  const readings = [0, 1, 2].map(
    (i) => new Map(Object.entries(places).map(([place, at]) => [place, typeof at === "number" ? at : (at[i] ?? 0)])),
  );
  return { mode, readings };
}

describe("modeFindings", () => {
  it("finds a register that is constant within each mode and different between modes", () => {
    const stays = [
      stay("idle", { "holding:1": 1, "holding:2": 500, "holding:3": 20, "holding:4": [7, 8, 7], "coil:1": 0 }),
      stay("spray", { "holding:1": 3, "holding:2": 510, "holding:3": 2100, "holding:4": [9, 9, 8], "coil:1": 1 }),
      stay("bake", { "holding:1": 6, "holding:2": 520, "holding:3": 7100, "holding:4": [5, 5, 6], "coil:1": 1 }),
      stay("idle", { "holding:1": 1, "holding:2": 530, "holding:3": 20, "holding:4": [7, 8, 8], "coil:1": 0 }),
    ];
    const [code, setpoint, ...more] = modeFindings(stays);
    const codes = [
      { code: 1, mode: "idle" },
      { code: 3, mode: "spray" },
      { code: 6, mode: "bake" },
    ];
    expect(code).toEqual({ kind: "code", place: "holding:1", codes });
    expect(setpoint).toMatchObject({ kind: "code", place: "holding:3" });
    expect(more).toEqual([]);
    expect(modeFindings(stays, "holding:2")).toEqual([]);
  });

  it("accepts several codes for one mode, but not one code for two modes", () => {
    const bakes = [stay("idle", { r: 1 }), stay("bake", { r: 6 }), stay("bake", { r: 7 }), stay("idle", { r: 1 })];
    expect(modeFindings(bakes)[0]).toMatchObject({
      codes: [{ code: 1 }, { code: 6, mode: "bake" }, { code: 7, mode: "bake" }],
    });
    expect(modeFindings([...bakes, stay("spray", { r: 6 })])).toEqual([]);
  });

  it("finds one bit per mode in the same register, with at most one mode without a bit, if no register has mode codes", () => {
    const look = (word: number, coil: number) => ({ "holding:9": word + 4096, "coil:5": coil, "holding:40": 1 });
    const stays = [
      stay("idle", look(0, 0)),
      stay("spray", look(0b0010, 0)),
      stay("flash", look(0b0100, 0)),
      stay("bake", look(0b1000, 1)),
      stay("idle", look(0, 0)),
    ];
    const found = modeFindings(stays).find(({ kind }) => kind === "bits");
    const at = (bit: number, mode: ProfileMode) => ({ place: "holding:9", bit, mode });
    expect(found).toEqual({ kind: "bits", bits: [at(1, "spray"), at(2, "flash"), at(3, "bake")], without: "idle" });
    expect(found?.kind === "bits" ? codeWithout(found) : null).toEqual({ code: "none", mode: "idle" });
  });

  it("ignores an address that was not read in every mode", () => {
    const first = stay("idle", { r: 1 });
    const second = stay("spray", {});
    expect(modeFindings([first, second])).toEqual([]);
  });
});
