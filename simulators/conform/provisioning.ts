import { randomUUID } from "node:crypto";
import { must, Unsupported } from "./requirement.ts";
import {
  type Answer,
  field,
  itemsOf,
  mustBeError,
  type PlayedGateway,
  sha256,
  type Target,
  type Requirement,
} from "./target.ts";

const POST = "POST /api/booths_provisioning";
const GET = "GET /api/booths_provisioning/{serial_number}";
const PUT = "PUT /api/booths_provisioning/{serial_number}";
const PLACE = "docs/service/contract.md, provisioning";
const placeOf = (operation: string): string => `contract/openapi.yaml, ${operation}`;

const read = async (target: Target, key?: string): Promise<Answer> => {
  const path = encodeURIComponent(target.options.serial);
  const more = { operation: GET, ...(key === undefined ? {} : { key }) };
  const answer = await target.demand(`GET /api/booths_provisioning/${path}`, [200], more);
  target.record = answer.body as Target["record"];
  return answer;
};

interface Claiming {
  readonly statuses: readonly number[];
  readonly intent?: "claim" | "take_over";
  readonly expected?: number;
  readonly claim_id?: string;
  readonly serial?: string;
  readonly change?: object;
}

function claim(
  target: Target,
  gateway: PlayedGateway,
  {
    statuses,
    intent = "claim",
    expected = 0,
    claim_id = gateway.claim_id,
    serial = target.options.serial,
    change = {},
  }: Claiming,
): Promise<Answer> {
  const body = {
    serial_number: serial,
    gateway: {
      id: gateway.id,
      hardware_id: gateway.id,
      agent_version: "kit",
      credential_sha256: sha256(gateway.credential),
    },
    stream_id: gateway.stream,
    intent,
    expected_generation: expected,
    confirm: { by: "conformance kit", note: "" },
    ...change,
  };
  return target.demand(POST, statuses, { body, headers: { "idempotency-key": claim_id } });
}

/** Claims the booth for a gateway with the record's present generation. */
export async function claimNow(target: Target, gateway: PlayedGateway, intent: "claim" | "take_over"): Promise<Answer> {
  await read(target);
  const answer = await claim(target, gateway, { statuses: [200, 201], intent, expected: generationIn(target.record) });
  target.record = answer.body as Target["record"];
  gateway.generation = generationIn(target.record);
  return answer;
}

const generationIn = (record: unknown): number => Number(field(record, "generation") ?? 0);

interface Putting {
  readonly statuses: readonly number[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly gateway?: PlayedGateway;
}

const put = (
  target: Target,
  body: object,
  { statuses, headers = {}, gateway = target.gateway }: Putting,
): Promise<Answer> =>
  target.demand(`PUT /api/booths_provisioning/${encodeURIComponent(target.options.serial)}`, statuses, {
    operation: PUT,
    key: gateway.credential,
    body,
    headers,
  });

const named = ({ gateway }: { readonly gateway: PlayedGateway }) => ({
  gateway_id: gateway.id,
  generation: gateway.generation,
});

/** Completes a gateway's binding with its credential, as each gateway does before its first session. */
export const complete = (target: Target, gateway: PlayedGateway): Promise<Answer> =>
  put(target, { ...named({ gateway }), completion_status: "COMPLETE" }, { statuses: [200], gateway });

/** Requests of a gateway of a service before it sends records. The checks build on each other. */
export const PROVISIONING: readonly Requirement[] = [
  {
    id: "P01",
    title: "the provisioning record of a booth is found by its serial number",
    place: placeOf(GET),
    check: async (target) => {
      await read(target);
      must(
        field(target.record, "serial_number") === target.options.serial,
        "another serial number",
        target.options.serial,
      );
    },
  },
  {
    id: "P02",
    title: "an unknown serial number gets 404 with {error}",
    place: placeOf(GET),
    check: async ({ demand }) =>
      void (await demand("GET /api/booths_provisioning/NO-SUCH-BOOTH", [404], { operation: GET })),
  },
  {
    id: "P03",
    title: "the record shows the booth's id, facility, time zone, shifts and configuration",
    place: placeOf(GET),
    check: async (target) => {
      await read(target);
      for (const name of ["booth_id", "facility_id", "tz"])
        must(typeof target.record[name] === "string", `${name} is missing`, `a text in ${name}`);
      must(Array.isArray(target.record["working_hours"]), "working_hours is missing", "a list in working_hours");
      must(typeof field(target.record, "config", "revision") === "number", "config.revision is missing", "a number");
    },
  },
  {
    id: "P04",
    title: "a search of the booths by serial number finds the booth",
    place: placeOf("GET /api/booths"),
    check: async (target) => {
      const { serial } = target.options;
      const { body } = await target.demand(`GET /api/booths?search=${encodeURIComponent(serial)}`, [200]);
      const found = itemsOf(body).filter((booth) => booth["serial_number"] === serial);
      must(found.length === 1, `${found.length} booths`, "one booth");
    },
  },
  {
    id: "P05",
    title: "a claim of an unknown serial number gets 404",
    place: placeOf(POST),
    check: async (target) =>
      void (await claim(target, target.rival, { statuses: [404], serial: "NO-SUCH-BOOTH", claim_id: randomUUID() })),
  },
  {
    id: "P06",
    title: "a claim without a serial number gets 400 or 422",
    place: placeOf(POST),
    check: async (target) =>
      void (await claim(target, target.rival, {
        statuses: [400, 422],
        change: { serial_number: undefined },
        claim_id: randomUUID(),
      })),
  },
  {
    id: "P07",
    title: "a claim that expects another generation gets 409",
    place: `${PLACE}, generation`,
    check: async (target) => {
      await read(target);
      const expected = generationIn(target.record) + 7;
      await claim(target, target.gateway, { statuses: [409], expected, claim_id: randomUUID() });
    },
  },
  {
    id: "P08",
    title: "a claim binds the booth: the record names the gateway, and the generation grows by one",
    place: placeOf(POST),
    check: async (target) => {
      await freed(target);
      const before = generationIn(target.record);
      await claimNow(target, target.gateway, "claim");
      must(
        target.gateway.generation === before + 1,
        `generation ${target.gateway.generation}`,
        `generation ${before + 1}`,
      );
      must(target.record["status"] === "provisioned", `status ${String(target.record["status"])}`, "provisioned");
      mustBeHeldBy(target, target.gateway);
    },
  },
  {
    id: "P09",
    title: "the answer to a claim tells where the broker is, with client id, user and topics",
    place: placeOf(POST),
    check: async (target) => {
      const { id } = target.gateway;
      await read(target);
      const expected = { client_id: id, username: id, topic_prefix: `bg/v1/${id}` };
      for (const [name, value] of Object.entries(expected)) {
        const found = field(target.record, "mqtt", name);
        must(found === value, `mqtt.${name} is ${String(found)}`, value);
      }
      must(typeof field(target.record, "mqtt", "url") === "string", "mqtt.url is missing", "a URL");
    },
  },
  {
    id: "P10",
    title: "a repeated claim with the same Idempotency-Key gets the same answer, and binds nothing again",
    place: `${PLACE}, idempotency`,
    check: async (target) => {
      const expected = target.gateway.generation - 1;
      const first = await claim(target, target.gateway, { statuses: [200, 201], expected });
      const second = await claim(target, target.gateway, { statuses: [200, 201], expected });
      must(first.status === second.status, `first ${first.status}, then ${second.status}`, "the same status");
      must(generationIn(second.body) === target.gateway.generation, "the generation has grown", "the same generation");
    },
  },
  {
    id: "P11",
    title: "an Idempotency-Key of another claim gets 409 or 422",
    place: `${PLACE}, idempotency`,
    check: async (target) => {
      const { claim_id, generation } = target.gateway;
      await claim(target, target.rival, { statuses: [409, 422], claim_id, expected: generation });
    },
  },
  {
    id: "P12",
    title: "a claim by another gateway gets 409, and the binding stays",
    place: placeOf(POST),
    check: async (target) => {
      await claim(target, target.rival, {
        statuses: [409],
        expected: target.gateway.generation,
        claim_id: randomUUID(),
      });
      await read(target);
      mustBeHeldBy(target, target.gateway);
    },
  },
  {
    id: "P13",
    title: "the gateway's credential is a valid key as soon as the claim is answered",
    place: `${PLACE}, which key`,
    check: async (target) => void (await read(target, target.gateway.credential)),
  },
  {
    id: "P14",
    title: "a credential that no claim named gets 401",
    place: `${PLACE}, which key`,
    check: async (target) => {
      const path = `GET /api/booths_provisioning/${encodeURIComponent(target.options.serial)}`;
      await target.demand(path, [401], { key: target.rival.credential, operation: GET });
    },
  },
  {
    id: "P15",
    title: "PUT completes the binding, and a repeated PUT changes nothing",
    place: placeOf(PUT),
    check: async (target) => {
      for (let time = 0; time < 2; time += 1) {
        const { body } = await complete(target, target.gateway);
        must(field(body, "completion_status") === "COMPLETE", "completion_status differs", "COMPLETE");
      }
    },
  },
  {
    id: "P16",
    title: "PUT with another generation gets 409 or 412, and changes nothing",
    place: `${PLACE}, generation`,
    check: async (target) => {
      const reported = { seq: 1, connectivity_status: "Active", last_active_mode: "From another generation" };
      await put(
        target,
        { ...named(target), generation: target.gateway.generation + 1, reported },
        { statuses: [409, 412] },
      );
      const { body } = await read(target);
      must(
        field(body, "reported", "last_active_mode") !== reported.last_active_mode,
        "the report was stored",
        "no change",
      );
    },
  },
  {
    id: "P17",
    title: "PUT with an outdated If-Match gets 412",
    place: "docs/service/contract.md, when the service's answers change",
    check: async (target) => {
      const { headers } = await read(target);
      const tag = headers.get("etag");
      if (tag === null) throw new Unsupported("GET has no ETag");
      await put(target, named(target), { statuses: [412], headers: { "if-match": '"0.0-of-the-kit"' } });
      await put(target, named(target), { statuses: [200], headers: { "if-match": tag } });
    },
    is_optional: true,
  },
  {
    id: "P18",
    title: "a reported device shows in the booth",
    place: "docs/service/contract.md, reported",
    check: async (target) => {
      const versions = { firmware_version: "2.1", plc_program: "KIT-24", plc_program_revision: "7" };
      const update = { last_firmware_update: null, last_program_update: "2025-02-17 10:00:00Z" };
      const reported = { ...report(10), ...versions, ...update, last_active_mode: "Spray Mode" };
      await put(target, { ...named(target), reported }, { statuses: [200] });
      await mustShow(target, { ...versions, ...update, last_active_mode: "Spray Mode" });
    },
  },
  {
    id: "P19",
    title: "a report with an older seq is ignored",
    place: "docs/service/contract.md, reported",
    check: async (target) => {
      await put(
        target,
        { ...named(target), reported: { ...report(9), firmware_version: "1.0-old" } },
        { statuses: [200] },
      );
      await mustShow(target, { firmware_version: "2.1" });
    },
  },
  {
    id: "P20",
    title: "the booth's sizes can be changed, and the answer shows them",
    place: placeOf("PUT /api/booths/{id}"),
    is_optional: true,
    check: async (target) => {
      const id = encodeURIComponent(String(target.record["booth_id"]));
      const { body } = await target.demand(`GET /api/booths/${id}`, [200], { operation: "GET /api/booths/{id}" });
      const width = field(body, "width") === "13.5" ? "13.6" : "13.5";
      const answer = await target.ask(`PUT /api/booths/${id}`, { body: { width } });
      if ([404, 405, 501].includes(answer.status)) throw new Unsupported(`status ${answer.status}`);
      must(answer.status === 200, `status ${answer.status}`, "status 200");
      await mustShow(target, { width });
      await target.ask(`PUT /api/booths/${id}`, { body: { width: field(body, "width") ?? "" } });
    },
  },
  {
    id: "P21",
    title: "a new credential is valid, and the old one still is until a session has used the new one",
    place: "docs/service/contract.md, a new key",
    check: async (target) => {
      const old = target.gateway.credential;
      const next = sha256(`${old} and next`);
      await put(target, { ...named(target), credential_sha256: sha256(next) }, { statuses: [200] });
      await read(target, next);
      await read(target, old);
      await put(target, { ...named(target), credential_sha256: sha256(old) }, { statuses: [200] });
      await read(target, old);
    },
  },
  {
    id: "P22",
    title: "a released booth can be claimed again, with a new generation",
    place: placeOf(PUT),
    check: async (target) => {
      const { body } = await put(
        target,
        { ...named(target), status: "released", reason: "of the kit" },
        { statuses: [200] },
      );
      must(field(body, "status") === "released", `status ${String(field(body, "status"))}`, "released");
      must(field(body, "gateway") === null, "the record names a gateway", '"gateway": null');
      const before = target.gateway.generation;
      // A new claim of the same gateway has a new id.
      const again = { ...target.gateway, claim_id: randomUUID() };
      await claimNow(target, again, "claim");
      must(again.generation === before + 1, `generation ${again.generation}`, `generation ${before + 1}`);
      target.gateway.generation = again.generation;
      await complete(target, target.gateway);
    },
  },
  {
    id: "P23",
    title: "a body that isn't JSON gets 400 with {error}",
    place: placeOf(POST),
    check: async (target) => {
      const response = await fetch(`${target.options.url}/api/booths_provisioning`, {
        method: "POST",
        headers: { authorization: target.options.key, "content-type": "application/json" },
        body: "{",
        signal: AbortSignal.timeout(target.options.timeout_ms),
      });
      const text = await response.text();
      target.exchanges.push({ sent: `${POST}\n{`, received: `${response.status} ${text}` });
      must(response.status === 400, `status ${response.status}`, "status 400");
      mustBeError({ status: 400, headers: response.headers, body: JSON.parse(text) as unknown });
    },
  },
];

/** Releases the booth if an earlier run of the kit, or another gateway, holds it. */
export async function freed(target: Target): Promise<void> {
  await read(target);
  const holder = field(target.record, "gateway", "id");
  if (target.record["status"] !== "provisioned" || typeof holder !== "string") return;
  must(
    holder.startsWith("kit-"),
    `the booth is held by ${holder}`,
    "a booth that no gateway holds: choose another with --serial",
  );
  const path = encodeURIComponent(target.options.serial);
  const body = {
    gateway_id: holder,
    generation: generationIn(target.record),
    status: "released",
    reason: "of the kit",
  };
  await target.demand(`PUT /api/booths_provisioning/${path}`, [200], { operation: PUT, body });
  await read(target);
}

function report(seq: number) {
  const plc = { protocol: "modbus", address: "192.0.2.10:502", vendor: "kit", serial_number: null };
  return { connectivity_status: "Active", plc, seq, sent_at: new Date().toISOString() };
}

function mustBeHeldBy({ record }: Target, { id }: PlayedGateway): void {
  const holder = field(record, "gateway", "id");
  must(holder === id, `gateway.id is ${String(holder)}`, id);
}

/** Checks fields of the booth. */
export async function mustShow(target: Target, fields: Readonly<Record<string, unknown>>): Promise<void> {
  const id = encodeURIComponent(String(target.record["booth_id"]));
  const { body } = await target.demand(`GET /api/booths/${id}`, [200], { operation: "GET /api/booths/{id}" });
  for (const [name, value] of Object.entries(fields)) {
    const found = field(body, name);
    must(found === value, `${name} is ${JSON.stringify(found)}`, `${name} ${JSON.stringify(value)}`);
  }
}
