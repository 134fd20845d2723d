import { render } from "../../../src/domain/messages/render.ts";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { opcuaPki, parseCertificate } from "../../../src/acquisition/opcua/pki.ts";
import type { Logger } from "../../../src/domain/machine.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { DAY_MS } from "../../../src/domain/time.ts";

const NOW = Date.UTC(2027, 5, 1);

function rig(dir: string) {
  const said: string[] = [];
  const ignore = (): void => undefined;
  const log: Logger = { debug: ignore, info: ignore, error: ignore, warn: (_, text) => void said.push(render(text)) };
  const time = { now: NOW };
  const made = (): ReturnType<typeof opcuaPki> => opcuaPki({ dir, wall: () => time.now, log });
  return { said, time, made };
}

describe("the gateway's own certificate", () => {
  test("is created once for all links, in a folder that only the agent can read", async () => {
    const dir = join(temporaryFolder(), "opcua");
    const { made, said } = rig(dir);
    const pki = made();
    expect(pki.ownExpiry()).toBeNull();
    const [first, second] = await Promise.all([pki.own(), pki.own()]);
    const afterRestart = await made().own();
    expect(second.fingerprint).toBe(first.fingerprint);
    expect(afterRestart.fingerprint).toBe(first.fingerprint);
    expect(first.uri).toMatch(/^urn:booth-gateway:[0-9a-f-]{36}$/);
    expect(said).toEqual([`new OPC UA certificate of the gateway: let the PLC trust ${first.fingerprint}`]);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const name of ["own.key", "own.pem"]) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
  });

  test("is renewed 30 days before expiry with the same name and key, and the renewal is announced 30 days earlier", async () => {
    const dir = temporaryFolder();
    const { made, said, time } = rig(dir);
    const pki = made();
    const old = await pki.own();
    const key = readFileSync(join(dir, "own.key"), "utf8");
    const ends = parseCertificate(readFileSync(join(dir, "own.pem"))).validToDate.getTime();
    said.splice(0);
    time.now = ends - 61 * DAY_MS;
    await pki.own();
    expect(said).toEqual([]);
    time.now = ends - 59 * DAY_MS;
    await pki.own();
    await made().own();
    expect((await pki.own()).fingerprint).toBe(old.fingerprint);
    expect(said[0]).toMatch(/ends on 20\d\d-\d\d-\d\d and is renewed 30 days before/);
    time.now = ends - 29 * DAY_MS;
    expect(pki.ownExpiry()).toBe(ends);
    expect(pki.certificates()).toEqual([{ link: "opcua", server: null, expires: ends }]);
    const renewed = await pki.own();
    expect(pki.ownExpiry()).toBeGreaterThan(time.now + 3000 * DAY_MS);
    expect(renewed.fingerprint).not.toBe(old.fingerprint);
    expect(renewed.uri).toBe(old.uri);
    expect(readFileSync(join(dir, "own.key"), "utf8")).toBe(key);
    expect(said.at(-1)).toContain(renewed.fingerprint);
  });

  test("is replaced if it is damaged or belongs to another key", async () => {
    const dir = temporaryFolder();
    const { made } = rig(dir);
    const first = await made().own();
    writeFileSync(join(dir, "own.pem"), readFileSync(join(dir, "own.pem")).subarray(0, 200));
    const second = await made().own();
    expect(second.fingerprint).not.toBe(first.fingerprint);
    expect((await made().own()).fingerprint).toBe(second.fingerprint);
  });

  test("is kept after the clock is corrected, even if it was created while the clock was at 1970", async () => {
    const dir = temporaryFolder();
    const { made, time } = rig(dir);
    time.now = 0;
    const early = await made().own();
    time.now = NOW;
    expect((await made().own()).fingerprint).toBe(early.fingerprint);
  });

  test("makes the link fail with the reason config if it can't be stored", async () => {
    const file = join(temporaryFolder(), "a-file");
    writeFileSync(file, "");
    await expect(rig(join(file, "opcua")).made().own()).rejects.toMatchObject({
      name: "LinkError",
      kind: "config",
    });
  });
});

test("an OPC UA server's certificate that expires within 30 days is logged once", () => {
  const { made, said } = rig(temporaryFolder());
  const pki = made();
  pki.noteServer("opc.tcp://plc:4840", "aa", NOW + 31 * DAY_MS);
  expect(said).toEqual([]);
  for (let i = 0; i < 3; i++) pki.noteServer("opc.tcp://plc:4840", "bb", NOW + 29 * DAY_MS);
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("opc.tcp://plc:4840 ends on 2027-06-30");
  expect(pki.certificates()).toEqual([{ link: "opcua", server: "opc.tcp://plc:4840", expires: NOW + 29 * DAY_MS }]);
});
