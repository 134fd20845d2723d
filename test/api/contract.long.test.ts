import { expect, it } from "vitest";
import { z } from "zod";
import { CONTRACT, type ContractRow } from "../../simulators/service/http/contract-table.ts";
import { operationNamed, OPERATIONS } from "../../src/api/operations.ts";
import { ANSWERS } from "../../src/contract/answers.ts";
import { SERVICE_OPERATIONS } from "../../src/contract/operations.ts";
import { ask, boothOnce, openPage, runningAgent, sessionAt, type Reply } from "./box-http.ts";
import { realSite, SERIAL } from "../support/real-site.ts";

/** The gateway or the service, as a client sees it. The same requests are sent to both. */
interface Side {
  readonly url: string;
  readonly key: string;
  readonly booth_id: string;
  readonly window: string;
}

const LOCAL = OPERATIONS.filter((one) =>
  SERVICE_OPERATIONS.some(({ method, path }) => method === one.method && path === one.path),
);
const ROWS = CONTRACT.filter(({ method, path }) =>
  LOCAL.some((operation) => operation.method === method && operation.path === path),
);
const READS = ROWS.filter(({ method }) => method === "GET");

it("the gateway and the reference service list the same API operations", () => {
  const names = (rows: readonly { readonly method: string; readonly path: string }[]): string[] =>
    rows.map(({ method, path }) => `${method} ${path}`).sort();
  expect(names(SERVICE_OPERATIONS)).toEqual(names(CONTRACT));
  expect(ROWS).toHaveLength(LOCAL.length);
  expect(LOCAL).toHaveLength(26);
  const answers = new Set(LOCAL.map(({ answer }) => answer));
  expect([...answers].sort()).toEqual([...Object.keys(ANSWERS), "csv"].sort());
});

it("the gateway's API answers every operation with a body that matches the service's schema", async () => {
  const site = await realSite({ speed: 600, serial: SERIAL, scenario: "busy-day" });
  await runningAgent(site);
  const booth = await boothOnce(
    site,
    "the service has acked some cycles",
    ({ provisioning, now, log }) =>
      provisioning.state === "active" && (now?.cycles_today ?? 0) > 0 && log.acked_seq > 0,
  );
  const { url, pin } = await openPage(site);
  const start = new Date(booth.time - 6 * 3_600_000).toISOString();
  const window = `start=${start}&end=${new Date(booth.time - 600_000).toISOString()}`;
  const booth_id = booth.provisioning.booth_id ?? "";
  const sides: readonly (Side & { readonly name: string })[] = [
    { name: "service", url: site.service.url, key: site.adminKey, booth_id, window },
    { name: "box", url: url ?? "", key: await sessionAt(url ?? "", pin), booth_id, window },
  ];
  const faults: string[] = [];
  for (const { name, ...side } of sides) {
    for (const fault of [...(await reads(side)), ...(await refusals(side))]) faults.push(`${name}: ${fault}`);
  }
  expect(faults).toEqual([]);

  const [service, box] = sides;
  if (service === undefined || box === undefined) throw new Error("two sides");
  // The box's answer has the same fields as the service's.
  const fieldsOf = async (side: Side, path: string): Promise<unknown> => {
    const { body } = await ask(`${side.url}${path}`, { key: side.key });
    return Object.keys((body as object | undefined) ?? {}).sort();
  };
  const path = `/api/booths/${booth_id}`;
  expect(await fieldsOf(box, path)).toEqual(await fieldsOf(service, path));

  expect(await outOfOwnSchema(box)).toEqual([]);
  const writes = await boxWrites(box);
  expect(writes).toEqual([]);
});

interface Schemas {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly responses: Readonly<Record<string, Answered>> }>>>
  >;
}
interface Answered {
  readonly content: { readonly "application/json"?: { readonly schema: Parameters<typeof z.fromJSONSchema>[0] } };
}

/** Checks the box's answers, with and without coverage, against its own `/api/openapi.json`, which must describe every operation. */
async function outOfOwnSchema(box: Side): Promise<string[]> {
  const document = await ask(`${box.url}/api/openapi.json`);
  const { paths } = document.body as Schemas;
  const faults: string[] = [];
  for (const row of READS.filter(({ csv }) => csv === undefined)) {
    const { responses } = paths[row.path]?.["get"] ?? {};
    const schema = responses?.["200"]?.content["application/json"]?.schema;
    if (typeof schema !== "object" || !("additionalProperties" in schema)) {
      faults.push(`${row.path}: no shape is told`);
      continue;
    }
    for (const more of ["", "&coverage=true"]) {
      const { body } = await ask(`${urlOf(box, row)}${more}`, { key: box.key });
      const { error } = z.fromJSONSchema(schema).safeParse(body);
      if (error !== undefined) faults.push(`${row.path}${more}: ${JSON.stringify(error.issues.slice(0, 3))}`);
    }
  }
  return faults;
}

async function reads(side: Side): Promise<string[]> {
  const faults: string[] = [];
  for (const row of READS) {
    const reply = await ask(urlOf(side, row), { key: side.key });
    const fault = faultOf(row, reply);
    if (fault !== null) faults.push(`${row.method} ${row.path}: ${fault}`);
  }
  return faults;
}

function faultOf(row: ContractRow, reply: Reply): string | null {
  if (reply.status !== row.status) return `${reply.status} ${reply.text.slice(0, 200)}`;
  const type = reply.headers.get("content-type") ?? "";
  if (row.csv === "always") return type.startsWith("text/csv") ? null : `type ${type}`;
  if (!type.startsWith("application/json")) return `type ${type}`;
  if ((reply.headers.get("deprecation") === "true") !== row.is_deprecated) return "Deprecation header";
  const { error } = row.answer?.safeParse(reply.body) ?? {};
  return error === undefined ? null : JSON.stringify(error.issues.slice(0, 3));
}

/** Checks that both sides reject the same invalid requests. */
async function refusals(side: Side): Promise<string[]> {
  const faults: string[] = [];
  const wants = async (status: number, row: ContractRow, path: string): Promise<void> => {
    const reply = await ask(`${side.url}${path}`, { key: side.key });
    const isError = typeof (reply.body as { readonly error?: unknown } | undefined)?.error === "string";
    if (reply.status !== status || !isError) {
      faults.push(`${row.path} as ${path}: ${reply.status} instead of ${status}`);
    }
  };
  for (const row of READS) {
    const tags = row.query.includes("tags") ? "tags=mode&" : "";
    if (row.path.includes("{")) await wants(404, row, `${row.path.replace(/\{\w+\}/, "NONE-1")}?${tags}`);
    const filled = pathOf(side, row);
    if (row.query.includes("start")) {
      await wants(400, row, `${filled}?${tags}start=yesterday`);
      await wants(400, row, `${filled}?${tags}start=2026-03-02T00:00:00Z&end=2026-03-01T00:00:00Z`);
    }
    if (row.query.includes("filter")) {
      for (const query of ["filter=nothing:eq:1", "filter=booth_id:near:1", "sort=-nothing"]) {
        await wants(400, row, `${filled}?${query}`);
      }
    }
    if (row.query.includes("page")) {
      for (const query of ["limit=0", "limit=x", "page=0"]) await wants(400, row, `${filled}?${tags}${query}`);
    }
  }
  return faults;
}

function pathOf({ booth_id }: Side, { path }: ContractRow): string {
  return path.replace("{id}", booth_id).replace("{serial_number}", SERIAL);
}

function urlOf(side: Side, row: ContractRow): string {
  const tags = row.query.includes("tags") && row.csv === undefined ? "tags=mode,gas&" : "";
  const includes = row.query.includes("includes") ? "&includes=cycle_count:energy_usage:overuse_data" : "";
  return `${side.url}${pathOf(side, row)}?${tags}${row.query.includes("start") ? side.window : ""}${includes}`;
}

/** Checks the answers of writes: 202 if the box forwards or queues, 200 if nothing has to change. */
async function boxWrites({ url, key }: Side): Promise<string[]> {
  const faults: string[] = [];
  const wants = async (name: string, status: number, body: unknown): Promise<void> => {
    const [method = "", path = ""] = name.split(" ");
    const row = CONTRACT.find((one) => one.method === method && one.path === path);
    const reply = await ask(`${url}${path.replace("{serial_number}", SERIAL)}`, { method, key, body });
    const own = operationNamed(name)?.answer ?? "csv";
    const shapes = [row?.answer, own === "csv" ? undefined : ANSWERS[own]];
    const issues = shapes.flatMap((shape) => shape?.safeParse(reply.body).error?.issues ?? []);
    if (reply.status !== status || issues.length > 0) {
      faults.push(`${name}: ${reply.status} ${reply.text} ${JSON.stringify(issues)}`);
    }
  };
  await wants("POST /api/help", 201, { subject: "it hums" });
  await wants("POST /api/booths_provisioning", 200, { serial_number: SERIAL });
  await wants("PUT /api/booths_provisioning/{serial_number}", 200, { completion_status: "COMPLETE" });
  await wants("PUT /api/booths_provisioning/{serial_number}", 202, { status: "released" });
  return faults;
}
