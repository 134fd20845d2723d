import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { say } from "./say.ts";

const EXAMPLE = fileURLToPath(new URL("../../config/gateway.example.yaml", import.meta.url));

it("check says that the example configuration is in order, as text and as JSON", async () => {
  const good = await say(["check", "--config", EXAMPLE]);
  expect(good).toMatchObject({ code: 0, err: "" });
  expect(good.out).toContain(`${EXAMPLE} is in order`);
  const json = await say(["check", "--config", EXAMPLE, "--json"]);
  expect(JSON.parse(json.out)).toMatchObject({ ok: true, booths: [{ booth: "booth-1", serial: "ABCD-123-123" }] });
});
