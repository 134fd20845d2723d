import { expect, it } from "vitest";
import { setService } from "../../src/api/set-up.ts";

type Asked = Parameters<typeof setService>;

/** What the set-up is told, on a gateway that holds a key for its present service. */
function gateway(way: "group" | "admin") {
  const told: string[] = [];
  const control = {
    status: () => ({ booths: [] }),
    giveKey: (key: string, url?: string) =>
      Promise.resolve(void told.push(`key ${key} for ${url ?? "the present one"}`)),
    vouchFor: (url: string) => Promise.resolve(void told.push(`keys may go to ${url}`)),
  };
  const set_up = {
    status: () => Promise.resolve({ service: { url: "https://service.example", said_by: "set_up", has_key: true } }),
    setService: (url: string) => Promise.resolve(void told.push(`service ${url}`)),
  };
  const ask = async (body: { readonly url: string; readonly api_key?: string }): Promise<readonly string[]> => {
    const [call, services] = [
      { way, body: () => body },
      { control, set_up },
    ] as unknown as Asked;
    await setService(call, services);
    return told;
  };
  return { ask, told };
}

it.each(["https://evil.example", "https://service.example:8443", "http://localhost"])(
  "the address %s alone is refused to who isn't root, and nothing is changed",
  async (url) => {
    const { ask, told } = gateway("group");
    await expect(ask({ url })).rejects.toThrow(
      "is for the service at https://service.example and is not sent elsewhere",
    );
    expect(told).toEqual([]);
  },
);

it("another address is taken with a key of its own, and the same service with another path without one", async () => {
  const url = "https://other.example";
  expect(await gateway("group").ask({ url, api_key: "k" })).toEqual([`key k for ${url}`, `service ${url}`]);
  const same = "https://service.example/path";
  expect(await gateway("group").ask({ url: same })).toEqual([`service ${same}`]);
});

it("root may send the keys to another address", async () => {
  const url = "https://other.example";
  expect(await gateway("admin").ask({ url })).toEqual([`keys may go to ${url}`, `service ${url}`]);
});
