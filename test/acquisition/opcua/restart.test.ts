import { expect, test } from "vitest";

import type { Driver } from "../../../src/acquisition/port.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { failure, never, readGroup, values } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

const bed = opcuaBed();

async function everything(driver: Driver): Promise<readonly (readonly Sample[])[]> {
  const groups: (readonly Sample[])[] = [];
  for (const group of Object.keys(bed().profile.groups)) groups.push(await readGroup(driver, group));
  return groups;
}

async function truth(): Promise<readonly (readonly unknown[])[]> {
  const { booth, profile, clock } = bed();
  const virtual = virtualDriver({ booth, profile, clock });
  await virtual.open(never);
  const groups: (readonly unknown[])[] = [];
  for (const group of Object.keys(profile.groups)) {
    groups.push((await readGroup(virtual, group)).map(({ tag, value }) => [tag, value]));
  }
  return groups;
}

const pairs = (groups: readonly (readonly Sample[])[]) =>
  groups.map((samples) => samples.map(({ tag, value }) => [tag, value]));

test("a server restarted with other namespace indexes: ids and paths lead to the right variables, not to their doubles", async () => {
  const { profile, make, again } = bed();
  const kinds = new Set(profile.tags.map(({ point: { node } }) => ("path" in node ? "path" : "id")));
  expect([...kinds].toSorted()).toEqual(["id", "path"]);
  const driver = make();
  await driver.open(never);
  expect(pairs(await everything(driver))).toEqual(await truth());
  await again({ shifted_namespaces: true });
  await failure(readGroup(driver, "fast"));
  const next = make();
  await next.open(never);
  expect(pairs(await everything(next))).toEqual(await truth());
  await again({ shifted_namespaces: false });
  await failure(readGroup(next, "fast"));
  const last = make();
  await last.open(never);
  expect(pairs(await everything(last))).toEqual(await truth());
});

test("the other program's doubles are really there, at the index that was ours", async () => {
  const { profile, make, again, server } = bed();
  await again({ shifted_namespaces: true });
  expect(server.manners.shifted_namespaces).toBe(true);
  const namespace = "urn:booth-sim:another-program";
  const tags = profile.tags.map((tag) => {
    const { node } = tag.point;
    const moved = "id" in node ? { namespace, id: node.id } : node;
    return { ...tag, point: { ...tag.point, node: moved } };
  });
  const driver = make({ profile: { ...profile, tags } });
  await driver.open(never);
  expect(values(await readGroup(driver, "fast"))[0]).toBe(99);
});
