import type { BodyName, BodyOf } from "../contract/local.ts";
import { SERVICE_OPERATIONS } from "../contract/operations.ts";
import type { LocalOperation, Runs } from "./operation.ts";
import type { BoothReport, BoxReport } from "./report.ts";

interface Row<B extends BodyName> extends Partial<
  Pick<LocalOperation, "answer" | "already" | "deprecated" | "shared" | "most_bytes">
> {
  /** Names of the query parameters, separated by blanks. */
  readonly query?: string;
  readonly body?: B;
  readonly status?: number;
  /** The lowest right that the operation needs; absent: a session. */
  readonly access?: LocalOperation["access"];
  readonly runs: Runs<B extends BodyName ? BodyOf<B> : never>;
}

function row<B extends BodyName = never>(
  name: `${LocalOperation["method"]} /${string}`,
  summary: string,
  { query = "", status = 200, access = "session", ...more }: Row<B>,
): LocalOperation {
  const [method, path = ""] = name.split(" ");
  const common = { method: method as LocalOperation["method"], path, summary, status, access };
  return { ...common, query: query.split(" ").filter((one) => one !== ""), ...more };
}

/**
 * Returns a function for rows of the table: it loads the report of the given name on a booth. The contract's shape of the answer has the
 * same name.
 */
function boothReports<N extends string>(load: () => Promise<Readonly<Record<N, BoothReport>>>) {
  return <A extends N>(answer: A) => {
    return {
      answer,
      access: "loopback",
      runs: { kind: "booth report", load: async () => (await load())[answer] },
    } as const;
  };
}

/** Does the same as `boothReports`, for reports on all booths. */
function boxReports<N extends string>(load: () => Promise<Readonly<Record<N, BoxReport>>>) {
  return <A extends N>(answer: A) => {
    return {
      answer,
      access: "loopback",
      runs: { kind: "box report", load: async () => (await load())[answer] },
    } as const;
  };
}

function controls<M extends object>(load: () => Promise<M>) {
  return <N extends keyof M>(name: N) => ({ kind: "control", load: async () => (await load())[name] }) as const;
}

const lists = boxReports(async () => (await import("./report-booths.ts")).BOOTH_LISTS);
const incidents = boxReports(async () => (await import("./report-records.ts")).INCIDENT_LISTS);
const records = boothReports(async () => (await import("./report-booths.ts")).BOOTH_RECORDS);
const time = boothReports(async () => (await import("./report-time.ts")).TIME_FIGURES);
const values = boothReports(async () => (await import("./report-records.ts")).VALUE_FIGURES);
const facts = boothReports(async () => (await import("./report-records.ts")).FACT_FIGURES);
const charts = boothReports(async () => (await import("./report-charts.ts")).CHARTS);
const sheets = boothReports(async () => (await import("./report-sheets.ts")).SHEETS);
const looks = controls(() => import("./looks.ts"));
const plc = controls(() => import("./plc.ts"));
const provisioning = controls(() => import("./provisioning.ts"));
const access = controls(() => import("./access.ts"));
const setUp = controls(() => import("./set-up.ts"));
const upkeep = controls(() => import("./upkeep.ts"));

/** Size of the largest register list: 5 MB, plus escapes for quotes and line ends. */
const LIST_BYTES = 8_000_000;
const WINDOW = "start end";
const LIST = "filter sort limit page";
const SPAN = `${WINDOW} coverage`;
const REPORT = `${WINDOW} limit page coverage`;
const BOOTH = "/api/booths/{id}";
const BINDING = "/api/booths_provisioning/{serial_number}";

function figure(report: ReturnType<typeof time | typeof facts | typeof values>, summary: string, query: string) {
  const { answer, ...more } = report;
  return row(`GET ${BOOTH}/${answer}`, summary, { ...more, query, answer: answer === "export_csv" ? "csv" : answer });
}

/** Makes the row of a report for the page's charts. The answer is shared, because several pages ask for the same data at once. */
function chart({ answer, ...more }: ReturnType<typeof charts | typeof sheets>, summary: string, query: string) {
  return row(`GET ${BOOTH}/${answer}`, summary, { ...more, query, shared: true });
}

/** All operations that the box answers. Routing, rights, bodies and `openapi.json` are derived from this table. */
export const OPERATIONS: readonly LocalOperation[] = [
  // Operations that the service has too. The box answers them for its own booths, in the service's shapes.
  row("GET /api/booths", "Lists the booths of this box", {
    query: `${LIST} ${WINDOW} includes search`,
    ...lists("booths"),
  }),
  row(`GET ${BOOTH}`, "Returns a booth", records("booth")),
  row("GET /api/booths/latest_updates", "Returns the times of each booth's last reading and last ack", {
    query: LIST,
    ...lists("latest_updates"),
  }),
  row(
    "GET /api/booths/booth_status_summary",
    "Counts the booths by connectivity and mode",
    lists("booth_status_summary"),
  ),
  row(
    "GET /api/booths/booth_filter_options",
    "Lists the filter values for lists of booths",
    lists("booth_filter_options"),
  ),
  figure(time("duration_by_mode"), "Returns the minutes by mode", SPAN),
  figure(time("frequency_by_mode"), "Returns the number of starts by mode", SPAN),
  // Readings need a session, even on this machine; figures do not.
  { ...figure(values("export_csv"), "Returns readings as CSV", `${WINDOW} tags`), access: "session" },
  { ...figure(values("history"), "Returns readings of tags", `tags ${REPORT}`), access: "session" },
  { ...figure(values("latest_values_for"), "Returns the last known values of tags", "tags before"), access: "session" },
  {
    ...figure(values("latest_values_at"), "Returns the values of tags at an instant", "tags before"),
    access: "session",
  },
  { ...figure(time("recent_stages"), "Returns the recent stages", REPORT), deprecated: true },
  figure(facts("revision_history"), "Returns firmware and program versions", "coverage"),
  figure(time("runtime"), "Returns the runtime of two periods", `${WINDOW} unit length coverage`),
  figure(time("runtime_series"), "Returns the runtime by hour, day, week or month", `${REPORT} unit length states`),
  figure(time("utilization_stats"), "Returns utilization, cycles and energy", SPAN),
  figure(time("utilization_summary"), "Returns the minutes in use, idle, in bake and by mode", SPAN),
  figure(time("utilization_timeline"), "Returns the minutes by mode and interval", `${REPORT} interval`),
  figure(facts("filter_maintenances"), "Returns the fitted filters and their use", REPORT),
  figure(facts("filter_maintenance_history"), "Returns filter changes", REPORT),
  row("POST /api/booths_provisioning", "Claims a booth by serial number; queued if the service is unreachable", {
    body: "claim",
    answer: "booths_provisioning",
    status: 202,
    already: 200,
    runs: provisioning("enterSerial"),
  }),
  row(`GET ${BINDING}`, "Returns the state of a booth's binding", records("booths_provisioning")),
  row(`PUT ${BINDING}`, "Releases the booth after all data is delivered", {
    body: "binding",
    answer: "booths_provisioning",
    status: 202,
    already: 200,
    runs: provisioning("changeBinding"),
  }),
  row("GET /api/validation_incidents", "Lists validation incidents", {
    query: `${LIST} ${WINDOW} booth_id search`,
    ...incidents("validation_incidents"),
  }),
  row("POST /api/help", "Stores a report of the box's state for support", {
    body: "help",
    answer: "help",
    status: 201,
    runs: looks("askForHelp"),
  }),
  row("POST /api/authenticate", "Opens a session with the PIN as api_key", {
    body: "authenticate",
    answer: "authenticate",
    access: "anyone",
    runs: access("authenticate"),
  }),

  // Operations that only the box has, for its page, its command line, and monitoring.
  row("GET /api/openapi.json", "Returns the OpenAPI document of the operations shared with the service", {
    access: "loopback",
    runs: {
      kind: "control",
      async load() {
        const { openApi } = await import("../contract/openapi.ts");
        return (_, { control }) => ({ status: 200, body: openApi(OPERATIONS, control.status().agent_version) });
      },
    },
  }),
  row(`GET ${BOOTH}/explain`, "Explains how a figure was derived", {
    query: `${WINDOW} figure`,
    runs: {
      kind: "booth report",
      async load() {
        const { explain, EXPLAINABLE } = await import("../reports/explain.ts");
        const { QueryError, windowParams } = await import("../contract/reports-query.ts");
        return ({ source, query, clock }) => {
          const body = explain(source, query["figure"] ?? "", windowParams(query, clock));
          if (body === null) throw new QueryError(`figure is none of ${EXPLAINABLE.join(", ")}`);
          return { body };
        };
      },
    },
  }),
  // Requires a session for this row, because minimum and maximum reveal readings.
  {
    ...chart(charts("trend"), "Returns minimum and maximum of tags by interval", `tags interval ${WINDOW}`),
    access: "session",
  },
  chart(charts("use_periods"), "Returns use, cycles and energy by hour, day, week or month", `${SPAN} unit length`),
  chart(charts("cycles"), "Returns the cycles that ended in the window", `${WINDOW} limit page`),
  chart(sheets("log_sheet"), "Returns the log sheet of the filters", `${WINDOW} format lang`),
  chart(sheets("bake_records"), "Returns the bake records", `${WINDOW} format lang curve`),
  chart(charts("filter_use"), "Returns filter use by day and the expected end of life", WINDOW),
  row("GET /status", "Returns the status of the box", { access: "loopback", runs: looks("status") }),
  row("GET /events", "Streams the status each second", { query: "booth", access: "loopback", runs: looks("events") }),
  row("GET /backlog", "Returns the backlog of records for the service", { access: "loopback", runs: looks("backlog") }),
  row("GET /healthz", "Reports whether readings can be committed", { access: "anyone", runs: looks("health") }),
  row("GET /metrics", "Returns the metrics for Prometheus", { access: "loopback", runs: looks("metrics") }),
  row("GET /readings", "Returns the last reading of each tag of a booth", { query: "booth", runs: looks("readings") }),
  row("GET /log", "Returns the newest log lines", { runs: looks("logLines") }),
  row("GET /support.json", "Returns the data of the support report", { runs: looks("support") }),
  row("POST /confirm", "Confirms that the booth card matches", {
    body: "confirm",
    status: 202,
    runs: provisioning("confirm"),
  }),
  row("POST /release", "Releases a booth", { body: "release", status: 202, runs: provisioning("release") }),
  row("GET /booth_fields", "Reads size and brand from the service", {
    query: "booth",
    runs: provisioning("readFields"),
  }),
  row("PUT /booth_fields", "Changes size and brand at the service", {
    query: "booth",
    body: "booth_fields",
    runs: provisioning("changeFields"),
  }),
  row("POST /filters/changed", "Records a filter change", { body: "filter_change", runs: upkeep("filterChanged") }),
  row("POST /filters/undo", "Withdraws the record of a filter change", {
    body: "filter_undo",
    runs: upkeep("filterUndone"),
  }),
  row("POST /filters/label", "Corrects part number, note and person of a filter change", {
    body: "filter_label",
    runs: upkeep("filterLabelled"),
  }),
  row("POST /filters/forget", "Erases a person's name from filter changes", {
    body: "filter_forget",
    runs: upkeep("personForgotten"),
  }),
  row("GET /filters/entries", "Lists manually recorded filter changes, with part numbers and notes", {
    query: "booth",
    access: "loopback",
    runs: upkeep("filterEntries"),
  }),
  row("GET /reconcile", "Returns the progress of a comparison with the service", {
    query: "booth id",
    access: "loopback",
    runs: upkeep("reconciliation"),
  }),
  row("POST /reconcile", "Starts a comparison with the service", {
    body: "reconcile",
    status: 202,
    runs: upkeep("reconcile"),
  }),
  row("GET /rebuild", "Returns the progress of the last rebuild", {
    query: "booth",
    access: "loopback",
    runs: upkeep("rebuildProgress"),
  }),
  row("POST /rebuild", "Starts a rebuild", { body: "rebuild", status: 202, runs: upkeep("rebuild") }),
  row("POST /reload", "Reloads the configuration file", {
    access: "socket",
    runs: upkeep("reload"),
  }),
  row("GET /setup", "Returns the settings, their authors, and the settings on trial", {
    access: "loopback",
    runs: setUp("setUpStatus"),
  }),
  row("PUT /setup/draft", "Saves the answers so far", { body: "set_up_draft", runs: setUp("saveDraft") }),
  row("POST /setup/service", "Sets the service's URL and the first key", {
    body: "set_up_service",
    runs: setUp("setService"),
  }),
  row("POST /setup/login", "Sets a password for an OPC UA server", { body: "set_up_login", runs: setUp("giveLogin") }),
  row("POST /setup/booth", "Tries a booth's new settings", {
    body: "set_up_booth",
    status: 202,
    runs: setUp("tryBooth"),
  }),
  row("POST /setup/settle", "Keeps or reverts the settings on trial", {
    body: "set_up_settled",
    runs: setUp("settle"),
  }),
  row("POST /setup/find", "Searches for PLCs", { body: "set_up_find", runs: plc("find") }),
  row("POST /setup/rank", "Reads a PLC with each profile and ranks the profiles", {
    body: "set_up_rank",
    runs: plc("rank"),
  }),
  row("GET /workshop", "Lists custom profiles and the missing parts of each", { runs: plc("workshopState") }),
  row("POST /workshop/run", "Makes a profile, step by step", { body: "workshop_run", runs: plc("workshopRun") }),
  row("POST /workshop/answer", "Answers a question of the profile workshop", {
    body: "workshop_answer",
    runs: plc("workshopAnswer"),
  }),
  row("PUT /workshop/list", "Uploads a register list to import", {
    body: "workshop_list",
    most_bytes: LIST_BYTES,
    runs: plc("keepList"),
  }),
  row("POST /plc/probe", "Probes the device at an address", { body: "probe", runs: plc("probe") }),
  row("POST /plc/detect", "Reads an address in every byte and word order", { body: "detect", runs: plc("detect") }),
  row("GET /plc/links", "Lists the PLC links that tools share with the agent", {
    access: "socket",
    runs: plc("links"),
  }),
  row("POST /plc/ask", "Reads once over a shared PLC link", { body: "plc_ask", access: "socket", runs: plc("ask") }),
  row("POST /notices/test", "Sends a test through one notice or all notices", {
    body: "notice_test",
    runs: upkeep("testNotices"),
  }),
  row("GET /page/network", "Returns whether the page stays open on the network, and the signed-in devices", {
    runs: access("networkState"),
  }),
  row("PUT /page/network", "Keeps the page open on the network, or ends that", {
    body: "page_network",
    runs: access("keepOpen"),
  }),
  row("POST /page/network/end", "Signs a device out, so that it must enter the PIN again", {
    body: "page_session_end",
    runs: access("endSession"),
  }),
  // Restricts these operations to the socket, because opening the page returns the PIN.
  row("GET /page", "Returns the addresses of the page", { access: "socket", runs: access("pageState") }),
  row("POST /page", "Opens the page on the network with a new PIN, or closes it", {
    body: "page",
    access: "socket",
    runs: access("openOrClosePage"),
  }),
];

/** The result of looking up a request in the table of operations. */
export type Match =
  | { readonly kind: "here"; readonly operation: LocalOperation; readonly params: Readonly<Record<string, string>> }
  /** An operation that only the service has. */
  | { readonly kind: "service" }
  /** An operation that exists, but only with these methods. */
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "nothing" };

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** All paths, those without parameters first. */
const PATHS = [...new Set([...OPERATIONS, ...SERVICE_OPERATIONS].map(({ path }) => path))]
  .sort((one, other) => Number(one.includes("{")) - Number(other.includes("{")))
  .map((path) => ({
    parts: path.split("/"),
    here: OPERATIONS.filter((operation) => operation.path === path),
    service: SERVICE_OPERATIONS.filter((operation) => operation.path === path).map(({ method }) => method),
  }));

/** Finds the operation of a request. A path without parameters takes precedence. */
export function matchOf(method: string, path: string): Match {
  const asked = path.split("/");
  const fitting = PATHS.filter(
    ({ parts }) =>
      parts.length === asked.length &&
      parts.every((part, index) => part === asked[index] || (part.startsWith("{") && asked[index] !== "")),
  );
  for (const { parts, here } of fitting) {
    const operation = here.find((one) => one.method === method);
    if (operation !== undefined) return { kind: "here", operation, params: paramsOf(parts, asked) };
  }
  const takes = (one: string): boolean => fitting.some(({ service }) => service.includes(one));
  if (takes(method)) return { kind: "service" };
  const allowed = METHODS.filter(takes);
  return allowed.length === 0 ? { kind: "nothing" } : { kind: "method", allowed };
}

function paramsOf(parts: readonly string[], asked: readonly string[]): Readonly<Record<string, string>> {
  const named = parts.flatMap((part, index) =>
    part.startsWith("{") ? [[part.slice(1, -1), decoded(asked[index] ?? "")]] : [],
  );
  return Object.fromEntries(named) as Readonly<Record<string, string>>;
}

/** Decodes a segment of a path. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Compares the segment unchanged if it isn't valid percent-encoding.
    return part;
  }
}

/** Returns the operation with a name such as "GET /status". The reports thread receives only the name. */
export function operationNamed(name: string): LocalOperation | undefined {
  return OPERATIONS.find((operation) => nameOf(operation) === name);
}

export function nameOf({ method, path }: Pick<LocalOperation, "method" | "path">): string {
  return `${method} ${path}`;
}
