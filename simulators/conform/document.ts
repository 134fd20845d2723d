import type { ContractFiles, ContractOperation } from "./contract-files.ts";
import { must, Unsupported } from "./requirement.ts";
import { field, itemsOf, mustBeError, type Target, type Requirement } from "./target.ts";

/** Place in the interface document's contract. */
const placeOf = (operation: string): string => `contract/openapi.yaml, ${operation}`;
const NOTIFICATIONS = "GET /api/notifications";
const RESEND = "POST /api/users/{id}/resend_invitation";
/** An id that no service has. */
const NO_ID = "no-such-id-of-the-kit";
/** Statuses of a service that doesn't offer an operation. */
const ABSENT = [404, 405, 501];
const DAY_MS = 86_400_000;

/** The requirements of the interface document: access, errors, lists, and the shape of each answer. */
export function documentRequirements(contract: ContractFiles): Requirement[] {
  const reads = contract.operations.filter(
    ({ method, path }) => method === "GET" && path !== "/api/booths_provisioning/{serial_number}",
  );
  return [...COMMON, ...reads.map((operation, index) => readRequirement(operation, COMMON.length + index + 1))];
}

const COMMON: readonly Requirement[] = [
  {
    id: "D01",
    title: "a request without Authorization gets 401 with {error}",
    place: placeOf(NOTIFICATIONS),
    check: async ({ demand }) => void (await demand(NOTIFICATIONS, [401], { key: "" })),
  },
  {
    id: "D02",
    title: "a request with a wrong key gets 401 with {error}",
    place: placeOf(NOTIFICATIONS),
    check: async ({ demand }) => void (await demand(NOTIFICATIONS, [401], { key: "wrong-key-of-the-kit" })),
  },
  {
    id: "D03",
    title: "401 comes before 404 and before a check of the body",
    place: "docs/service/reference-service.md, rules of all operations",
    check: async ({ demand }) => void (await demand(`GET /api/booths/${NO_ID}`, [401], { key: "" })),
  },
  {
    id: "D04",
    title: "limit sets the page size of notifications, and the envelope says so",
    place: placeOf(NOTIFICATIONS),
    check: async ({ demand }) => {
      const { body } = await demand(`${NOTIFICATIONS}?limit=1&page=1`, [200]);
      must(field(body, "limit") === 1 && field(body, "page") === 1, "limit or page differ", '"limit": 1, "page": 1');
      must(itemsOf(body).length <= 1, `${itemsOf(body).length} items`, "one item at most");
    },
  },
  {
    id: "D05",
    title: "limit=-1 returns all notifications on one page",
    place: placeOf(NOTIFICATIONS),
    check: async ({ demand }) => {
      const { body } = await demand(`${NOTIFICATIONS}?limit=-1`, [200]);
      must(field(body, "pages") === 1, `pages is ${String(field(body, "pages"))}`, '"pages": 1');
      must(
        itemsOf(body).length === field(body, "total"),
        "total and the number of items differ",
        "as many items as total",
      );
    },
  },
  {
    id: "D06",
    title: "an invitation of an unknown user gets 404 with {error}",
    place: placeOf(RESEND),
    check: async ({ demand }) => void (await demand(`POST /api/users/${NO_ID}/resend_invitation`, [404])),
  },
  {
    id: "D07",
    title: "an invitation by a caller who isn't an admin gets 403 with {error}",
    place: placeOf(RESEND),
    is_optional: true,
    check: async ({ demand, options }) => {
      if (options.user_key === "") throw new Unsupported("no --user-key was given");
      await demand(`POST /api/users/${NO_ID}/resend_invitation`, [403], { key: options.user_key });
    },
  },
  {
    id: "D08",
    title: "an unknown booth gets 404 with {error}",
    place: placeOf("GET /api/booths/{id}"),
    check: async ({ demand }) => void (await demand(`GET /api/booths/${NO_ID}`, [404])),
  },
  {
    id: "D09",
    title: "a facility can't be created without tz",
    place: placeOf("POST /api/facilities"),
    is_optional: true,
    check: async ({ ask }) => {
      const answer = await ask("POST /api/facilities", { body: { name: "A facility of the kit" } });
      if (ABSENT.includes(answer.status)) throw new Unsupported(`status ${answer.status}`);
      must([400, 422].includes(answer.status), `status ${answer.status}`, "status 400 or 422");
      mustBeError(answer);
    },
  },
];

function readRequirement({ method, path, query }: ContractOperation, nth: number): Requirement {
  const operation = `${method} ${path}`;
  return {
    id: `D${nth.toString().padStart(2, "0")}`,
    title: `${operation} answers with the fields of the interface document`,
    place: placeOf(operation),
    is_optional: true,
    async check(target) {
      const filled = await withId(target, path);
      const answer = await target.ask(`${method} ${filled}${queryOf(query)}`);
      if (ABSENT.includes(answer.status)) throw new Unsupported(`status ${answer.status}`);
      must(answer.status === 200, `status ${answer.status}`, "status 200");
      const fault = target.contract.answerFault(operation, answer, true);
      must(fault === null, fault ?? "", "the fields of the interface document");
    },
  };
}

/** Lists in which an id of a path is found, by the path's beginning. */
const LISTS: readonly (readonly [start: string, list: string])[] = [
  ["/api/booths/", "/api/booths"],
  ["/api/facilities/", "/api/facilities"],
  ["/api/accounts/", "/api/accounts"],
  ["/api/event_definitions/", "/api/event_definitions"],
  ["/api/notifications/", NOTIFICATIONS.slice(4)],
];

async function withId(target: Target, path: string): Promise<string> {
  if (!path.includes("{")) return path;
  const list = LISTS.find(([start]) => path.startsWith(start))?.[1] ?? "";
  const { body } = await target.ask(`GET ${list}`);
  const id = field(itemsOf(body)[0], "id");
  if (typeof id !== "string" && typeof id !== "number") throw new Unsupported(`GET ${list} shows no id`);
  return path.replace(/\{\w+\}/, encodeURIComponent(id));
}

/** Returns the parameters that some operations need: the last day, and tags. */
function queryOf(names: readonly string[]): string {
  const now = Date.now();
  const values: Readonly<Record<string, string>> = {
    start: new Date(now - DAY_MS).toISOString(),
    end: new Date(now).toISOString(),
    tags: "mode",
  };
  const pairs = names.flatMap((name) =>
    values[name] === undefined ? [] : [`${name}=${encodeURIComponent(values[name])}`],
  );
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}
