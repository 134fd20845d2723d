import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTRACT, type ContractRow } from "../../../simulators/service/http/contract-table.ts";
import { contractSite, type ContractSite } from "./contract-site.ts";
import type { Reply } from "./service-http.ts";

const ROWS = CONTRACT.map((row) => [`${row.method} ${row.path}`, row] as const);

/** Those that answer a page. */
const PAGES = ROWS.filter(([, row]) => row.query.includes("limit"));
const WITH_BODY = ROWS.filter(
  ([name, row]) => ["POST", "PUT", "PATCH"].includes(row.method) && !/resend_|mark_all/.test(name),
);
const WITH_WINDOW = ROWS.filter(([, row]) => row.query.includes("start"));
const WITH_ID = ROWS.filter(([, row]) => row.path.includes("{"));

let site: ContractSite;

async function ask(
  row: ContractRow,
  more: { key?: string | null; path?: string; body?: unknown; query?: string } = {},
): Promise<Reply> {
  const request = await site.requestFor(row);
  const path = more.path ?? request.path;
  const query = more.query === undefined ? "" : `${path.includes("?") ? "&" : "?"}${more.query}`;
  const body = more.body ?? request.body;
  const key = more.key === undefined ? request.key : more.key;
  return site.call(row.method, `${path}${query}`, { key, ...(body === undefined ? {} : { body }) });
}

function expectError(reply: Reply, status: number): void {
  expect([reply.status, Object.keys(reply.body), reply.body["error"]], reply.text).toEqual([
    status,
    ["error"],
    expect.any(String),
  ]);
}

describe("the service's API", () => {
  beforeAll(async () => void (site = await contractSite()));
  afterAll(() => site.running.stop());

  it.each(ROWS)("answers %s with every field as its schema requires", async (_, row) => {
    const reply = await ask(row);
    expect(reply.status, reply.text).toBe(row.status);
    const type = reply.headers.get("content-type") ?? "";
    if (row.answer === undefined) {
      expect(type.split(";")[0]).toBe(row.csv === "always" ? "text/csv" : "");
      return;
    }
    expect(row.answer.safeParse(reply.body).error?.issues ?? []).toEqual([]);
    expect(type).toMatch(/^application\/json/);
    expect(reply.headers.get("deprecation")).toBe(row.is_deprecated ? "true" : null);
  });

  it.each(ROWS)("answers 401 to %s without a valid key, even if the item does not exist", async (_, row) => {
    expectError(await ask(row, { key: null }), 401);
    expectError(await ask(row, { key: "no such key" }), 401);
    expectError(await ask(row, { key: null, path: row.path.replaceAll(/\{\w+\}/g, "NONE-1") }), 401);
  });

  it.each(ROWS)("answers 403 to %s from every role that may not use it", async (_, row) => {
    for (const scope of ["admin", "user", "provision", "gateway"] as const) {
      if (!row.scopes.includes(scope)) expectError(await ask(row, { key: site.keys[scope] }), 403);
    }
  });

  it.each(WITH_ID)("answers 404 to %s for an unknown item and for an item of another account", async (_, row) => {
    const path = row.path.replaceAll(/\{\w+\}/g, "NONE-1");
    expectError(await ask(row, { path: row.query.includes("tags") ? `${path}?tags=mode` : path }), 404);
    expectError(await ask(row, { key: site.stranger }), 404);
  });

  it.each(ROWS.filter(([, row]) => !row.path.includes("{") && row.method === "GET"))(
    "answers %s only with data of the caller's account",
    async (_, row) => {
      const reply = await ask(row, { key: site.stranger });
      expect(reply.status).toBe(200);
      for (const mark of site.marks) expect(reply.text).not.toContain(mark);
    },
  );

  /** Status of a stranger's request that names this account's items. Any key may open a session. */
  const FOREIGN: readonly (readonly [name: string, status: number, body: unknown])[] = [
    ["PUT /api/alert_types", 404, undefined],
    ["POST /api/booths_provisioning", 404, undefined],
    ["POST /api/event_definitions", 400, { name: "x", rules: [{ tag: "t", op: "==", value: 1 }], booth_ids: ["b1"] }],
    ["POST /api/facilities", 400, { name: "x", tz: "UTC", region_id: "reg-demo-body-shop" }],
    ["POST /api/login/verify", 401, undefined],
    ["POST /api/users/change_password", 401, undefined],
  ];
  it.each(FOREIGN)("rejects %s if it refers to ids of another account", async (name, status, body) => {
    const row = ROWS.find(([known]) => known === name)?.[1];
    if (row === undefined) throw new Error(name);
    expectError(await ask(row, { key: site.stranger, ...(body === undefined ? {} : { body }) }), status);
  });

  it.each(["POST /api/accounts", "POST /api/api_keys", "POST /api/help", "POST /api/users", "POST /api/facilities"])(
    "creates items for %s only in the caller's account",
    async (name) => {
      const row = ROWS.find(([known]) => known === name)?.[1];
      if (row === undefined) throw new Error(name);
      const made = await ask(row, { key: site.stranger });
      expect(made.status, made.text).toBe(201);
      const list = ROWS.find(([known]) => known === name.replace("POST", "GET"))?.[1];
      if (list !== undefined) expect((await ask(list)).text).not.toContain(made.body["id"]);
    },
  );

  it.each(WITH_BODY)("answers 400 to %s with an impossible body", async (_, row) => {
    expectError(await ask(row, { body: [1] }), 400);
    expectError(await ask(row, { body: "{" }), 400);
  });

  it.each(WITH_WINDOW)("answers 400 to %s with an impossible time window", async (_, row) => {
    for (const query of [
      "start=yesterday",
      "end=2026-02-30T00:00:00Z",
      "start=2026-03-02T00:00:00Z&end=2026-03-01T00:00:00Z",
    ]) {
      const { path } = await site.requestFor(row);
      const bare = path.replace(/start=[^&]*&end=[^&]*/, "");
      expectError(await ask(row, { path: bare, query }), 400);
    }
  });

  it.each(PAGES)("answers 400 to %s with an impossible page, filter or sort", async (_, row) => {
    for (const query of ["limit=0", "limit=-2", "limit=x", "page=0", "page=1.5"])
      expectError(await ask(row, { query }), 400);
    const isResource = row.query.includes("filter");
    const all = await ask(row, { query: "limit=-1" });
    if (isResource) expect(all.body).toMatchObject({ limit: -1, page: 1, pages: 1 });
    else expectError(all, 400);
    if (!isResource) return;
    expectError(await ask(row, { query: "filter=nothing:eq:1" }), 400);
    expectError(await ask(row, { query: "filter=id:near:1" }), 400);
    expectError(await ask(row, { query: "sort=-nothing" }), 400);
  });

  it.each(PAGES.filter(([name]) => !name.endsWith("/history")))(
    "returns the same items in the same order for %s, whether on one page or page by page",
    async (_, row) => {
      const whole = (await ask(row)).body as { data: unknown[]; total: number };
      expect(whole.data).toHaveLength(whole.total);
      const pages: unknown[] = [];
      for (let page = 1; page <= whole.total; page += 1) {
        const { body } = await ask(row, { query: `limit=1&page=${page}` });
        expect(body).toMatchObject({ page, limit: 1, pages: whole.total, total: whole.total });
        pages.push(...(body["data"] as unknown[]));
      }
      expect(pages).toEqual(whole.data);
      expect((await ask(row, { query: `limit=1&page=${whole.total + 1}` })).body["data"]).toEqual([]);
    },
  );

  it.each(PAGES.filter(([, row]) => row.query.includes("filter")))(
    "sorts and filters the items of %s by every field",
    async (_, row) => {
      const { path } = await site.requestFor(row);
      const bare = path.replace(/&includes=[^&]*/, "");
      const [first] = (await ask(row, { path: bare })).body["data"] as Record<string, unknown>[];
      const fields = Object.entries(first ?? {}).filter(
        ([, value]) => typeof value === "string" || typeof value === "number",
      );
      for (const [name, value] of fields) {
        const query = `filter=${name}:eq:${encodeURIComponent(String(value))}&sort=-${name}`;
        const found = await ask(row, { path: bare, query });
        expect(found.status, `${name} ${found.text}`).toBe(200);
        expect(
          (found.body["data"] as Record<string, unknown>[]).every((item) => item[name] === value),
          name,
        ).toBe(true);
        expect(found.body["total"]).not.toBe(0);
      }
    },
  );
});
