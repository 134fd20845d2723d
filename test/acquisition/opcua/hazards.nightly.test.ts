import { describe, expect, test } from "vitest";

import type { Driver } from "../../../src/acquisition/port.ts";
import { failure, never, readGroup } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

const bed = opcuaBed();

async function opened(): Promise<Driver> {
  const driver = bed().make();
  await driver.open(never);
  return driver;
}

describe("an OPC UA server", () => {
  test("is rejected with the missing and the available namespaces if it lacks the profile's namespaces", async () => {
    const { profile } = bed();
    const tags = profile.tags.map((tag) => ({
      ...tag,
      point: { ...tag.point, node: { namespace: "urn:not-there", id: "s=x" } },
    }));
    const error = await failure(
      bed()
        .make({ profile: { ...profile, tags } })
        .open(never),
    );
    expect(error.kind).toBe("config");
    expect(error.message).toMatch(/no namespace urn:not-there; it has .*phoenixcontact/);
  });

  test("gives bad samples only for the variables that it lacks, whether addressed by id, path or namespace", async () => {
    const { profile } = bed();
    const nodes = [
      { namespace: "urn:not-there", id: "s=x" },
      { namespace: "http://phoenixcontact.com/OpcUA/PLCnext/GlobalDataSpace/", id: "s=Nope" },
      { path: [{ namespace: "http://opcfoundation.org/UA/DI/", name: "Nope" }] as const },
    ];
    const tags = profile.tags.map((tag, i) => {
      const node = nodes[i];
      return node === undefined ? tag : { ...tag, group: "fast", point: { ...tag.point, node } };
    });
    const driver = bed().make({ profile: { ...profile, tags } });
    await driver.open(never);
    const samples = await readGroup(driver, "fast");
    expect(samples.slice(0, 3).map(({ reason }) => reason)).toEqual(["no_namespace", "BadNodeIdUnknown", "BadNoMatch"]);
    expect(samples.slice(3).every(({ quality }) => quality === "good")).toBe(true);
  });
});

describe("an OPC UA answer", () => {
  test("with more than 32 chunks makes the read fail with the reason malformed", async () => {
    const { gate } = bed();
    let sequence = 0;
    gate.alter = (bytes) => {
      if (bytes.toString("latin1", 0, 4) !== "MSGF") return bytes;
      const chunks = Array.from({ length: 64 }, () => {
        const chunk = Buffer.from(bytes);
        chunk.write("MSGC", "latin1");
        sequence = sequence === 0 ? bytes.readUInt32LE(16) : sequence + 1;
        chunk.writeUInt32LE(sequence, 16);
        return chunk;
      });
      return Buffer.concat(chunks);
    };
    expect((await failure(bed().make().open(never))).kind).toBe("malformed");
  });

  test("makes the next read fail with the reason malformed if the answer is sent twice, without ending the process", async () => {
    const driver = await opened();
    bed().gate.alter = (bytes) => Buffer.concat([bytes, bytes]);
    await readGroup(driver, "fast").catch(() => undefined);
    bed().gate.alter = null;
    expect((await failure(readGroup(driver, "fast"))).kind).toBe("malformed");
  });
});

test("an OPC UA server that allows three variables per read is read in several requests, and gives the same values", async () => {
  const driver = await opened();
  const whole = await readGroup(driver, "slow");
  await bed().again({ max_nodes_per_read: 3 });
  const next = await opened();
  expect(await readGroup(next, "slow")).toEqual(whole);
});
