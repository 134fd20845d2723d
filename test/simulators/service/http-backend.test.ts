import { expect, it, onTestFinished } from "vitest";
import { startHttpBackend } from "../../../simulators/service/mqtt/http-backend.ts";

const GATEWAY = { key_id: "k", account_id: "a", scope: "gateway", gateway_id: "gw-1" } as const;

/** Asks a backend whose only gateway is gw-1, or gw.2 with a dot in its name. */
async function backend() {
  const service = { name: "service", password: "secret" };
  const callerOf = (key: string) =>
    key === "own" ? GATEWAY : key === "dotted" ? { ...GATEWAY, gateway_id: "gw.2" } : undefined;
  const { url, stop } = await startHttpBackend({ callerOf, service, host: "127.0.0.1", port: 0 });
  onTestFinished(stop);
  return async (path: string, fields: Readonly<Record<string, string>>, method = "POST"): Promise<string> => {
    const form = new URLSearchParams(fields);
    const answer =
      method === "POST"
        ? await fetch(`${url}/${path}`, { method, body: form })
        : await fetch(`${url}/${path}?${form.toString()}`);
    return `${answer.status} ${await answer.text()}`;
  };
}

it("RabbitMQ's HTTP backend allows the service and each gateway with its own credential, and no session token", async () => {
  const ask = await backend();
  const answers = async (username: string, password: string): Promise<string> => ask("user", { username, password });
  expect(await answers("service", "secret")).toBe("200 allow");
  expect(await answers("gw-1", "own")).toBe("200 allow");
  expect(await ask("user", { username: "gw-1", password: "own" }, "GET")).toBe("200 allow");
  for (const [name, password] of [
    ["service", "own"],
    ["gw-1", "wrong"],
    ["gw-1", ""],
    ["gw-2", "own"],
    ["gw-1", "Bearer own"],
    ["gw.2", "dotted"],
  ] as const)
    expect(await answers(name, password), `${name} with ${password}`).toBe("200 deny");
});

it("RabbitMQ's HTTP backend limits a gateway to its own topics and its own session's queues", async () => {
  const ask = await backend();
  const username = "gw-1";
  const topic = (permission: string, routing_key: string): Promise<string> =>
    ask("topic", { username, permission, routing_key });
  expect(await topic("write", "bg.v1.gw-1.up.batch")).toBe("200 allow");
  expect(await topic("read", "bg.v1.gw-1.down.#")).toBe("200 allow");
  expect(await topic("write", "bg.v1.gw-1.down.cmd")).toBe("200 deny");
  expect(await topic("write", "bg.v1.gw-2.up.batch")).toBe("200 deny");
  expect(await topic("read", "bg.v1.#")).toBe("200 deny");
  const queue = (name: string): Promise<string> =>
    ask("resource", { username, resource: "queue", name, permission: "configure" });
  expect(await queue("mqtt-subscription-gw-1qos1")).toBe("200 allow");
  expect(await queue("mqtt-subscription-gw-2qos1")).toBe("200 deny");
  const exchange = { username, resource: "exchange", name: "amq.topic" };
  expect(await ask("resource", { ...exchange, permission: "write" })).toBe("200 allow");
  expect(await ask("resource", { ...exchange, permission: "configure" })).toBe("200 deny");
});

it("RabbitMQ's HTTP backend answers 404 to an unknown question, and 503 to a question that is too long", async () => {
  const ask = await backend();
  expect(await ask("users", {})).toBe("404 deny");
  expect(await ask("user", { username: "x".repeat(10_000) })).toBe("503 deny");
});
