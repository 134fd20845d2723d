import { expect, it } from "vitest";
import { firstKeyOf, giveFirstKey, makeOwnKey, noteKeyHosts, ownKeyOf } from "../../src/provisioning/keys.ts";
import { openSealer } from "../../src/runtime/secrets.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { inlineIdentity } from "../../simulators/virtual/store.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { memoryFolder, ofTest } from "../support/temporary.ts";

const OWN = "https://service.example";
const OTHER = "https://evil.example";

/** Makes the keys of a gateway with an installed key; `at` sets the service's address. */
function gateway() {
  const folder = memoryFolder();
  const file = openIdentity(folder, () => "gateway-1");
  ofTest(() => file.close());
  const installed = { key: "installed-key" };
  const secrets = { firstKey: () => installed.key, wipeFirstKey: () => null };
  const identity = inlineIdentity(file);
  const sealer = openSealer(folder);
  const random = seededRandom(1);
  const at = (service_url: string | null) => ({ identity, secrets, sealer, random, service_url });
  return { at, installed };
}

it("an installed key is sent only to the service that it was installed for, even if another address is entered later", async () => {
  const { at } = gateway();
  await noteKeyHosts(at(OWN), true);
  await noteKeyHosts(at(OTHER), false);
  expect([await firstKeyOf(at(OWN)), await firstKeyOf(at(OTHER))]).toEqual(["installed-key", null]);
  expect(await firstKeyOf(at("https://service.example:8443"))).toBeNull();
});

it("an installed key is also valid for the current service if root sets the address or installs a new key", async () => {
  const { at, installed } = gateway();
  await noteKeyHosts(at(OWN), true);
  await noteKeyHosts(at(OTHER), true);
  expect(await firstKeyOf(at(OTHER))).toBe("installed-key");
  installed.key = "newly-installed";
  expect(await firstKeyOf(at(OWN))).toBe("newly-installed");
});

it("a key typed together with an address is sent only to that address, which does not get the installed key", async () => {
  const { at } = gateway();
  await giveFirstKey(at(OWN), "typed-key", OTHER);
  expect([await firstKeyOf(at(OTHER)), await firstKeyOf(at(OWN))]).toEqual(["typed-key", "installed-key"]);
  await giveFirstKey(at(OWN), "another", OWN);
  expect(await firstKeyOf(at(OTHER))).toBeNull();
});

it("a key that was installed before any address is not sent to an address that is typed with another key", async () => {
  const { at } = gateway();
  await giveFirstKey(at(null), "typed-key", OTHER);
  await giveFirstKey(at(OTHER), "for-another", OWN);
  expect(await firstKeyOf(at(OTHER))).toBeNull();
});

it("the gateway's own key is sent only to the service that it was made for, and another service gets a new key", async () => {
  const { at } = gateway();
  await noteKeyHosts(at(OWN), true);
  await makeOwnKey(at(OWN));
  const own = await ownKeyOf(at(OWN));
  expect([typeof own, await ownKeyOf(at(OTHER))]).toEqual(["string", null]);
  await makeOwnKey(at(OTHER));
  expect(await ownKeyOf(at(OTHER))).not.toBe(own);
  expect(await ownKeyOf(at(OWN))).toBeNull();
});
