import { expect, it } from "vitest";
import { setService } from "../../src/api/set-up.ts";

type Asked = Parameters<typeof setService>;

/** Records the calls of the set-up on a gateway that has a key for its present service. */
function gateway(channel: "group" | "admin") {
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
      { channel, body: () => body },
      { control, set_up },
    ] as unknown as Asked;
    await setService(call, services);
    return told;
  };
  return { ask, told };
}

it.each(["https://evil.example", "https://service.example:8443", "http://localhost"])(
  "setService rejects the new service address %s from a group member who gives no key, and changes nothing",
  async (url) => {
    const { ask, told } = gateway("group");
    await expect(ask({ url })).rejects.toThrow(
      "is valid only for the service at https://service.example, so it is not sent to another one",
    );
    expect(told).toEqual([]);
  },
);

it("setService accepts another address if a key is given, and another path of the same service without a key", async () => {
  const url = "https://other.example";
  expect(await gateway("group").ask({ url, api_key: "k" })).toEqual([`key k for ${url}`, `service ${url}`]);
  const same = "https://service.example/path";
  expect(await gateway("group").ask({ url: same })).toEqual([`service ${same}`]);
});

it("setService allows root to use the existing keys for another address", async () => {
  const url = "https://other.example";
  expect(await gateway("admin").ask({ url })).toEqual([`keys may go to ${url}`, `service ${url}`]);
});
