/**
 * Who may import whom, as an allow-list of stations: an import that no rule allows is an error. Sibling folders of a station are told
 * apart: what they share stands at its door or in its rules.
 */
const src = (path) => `^src/${path}`;
const whole = (...stations) => stations.map((name) => src(`${name}/`));
const door = (...stations) => stations.map((name) => src(`${name}/port\\.ts$`));
const pkg = (...names) => names.map((name) => `node_modules/(@types/)?${name}/`);
const ANY_DOOR = src("[a-z]+/port\\.ts$");

/** Of each station: what it may import beside what is its own. */
const STATIONS = {
  domain: [],
  derivation: whole("domain"),
  store: [...whole("domain", "derivation"), ...door("config"), ...pkg("better-sqlite3")],
  reports: [...whole("domain", "derivation"), ...door("store")],
  acquisition: [
    ...whole("domain"),
    ...door("store", "config"),
    ...pkg("modbus-serial", "serialport", "node-opcua-client", "node-opcua-crypto"),
  ],
  contract: [...whole("domain"), ...pkg("zod")],
  delivery: [...whole("domain", "contract"), ...door("store", "config"), ...pkg("mqtt", "p-retry")],
  provisioning: [...whole("domain", "contract"), ...door("delivery", "store", "reports", "config")],
  outputs: [
    ...whole("domain", "contract"),
    ...door("store", "reports", "config"),
    // A connection to a broker, bounded and verified, is one subject.
    src("delivery/(mqtt/(dial|publish|session)|tls)\\.ts$"),
    // And so is one to a server of HTTP.
    src("delivery/http/(answer|client)\\.ts$"),
    ...pkg("mqtt", "protobufjs"),
  ],
  notices: [
    ...whole("domain", "contract"),
    ...door("store", "config"),
    src("delivery/(mqtt/(dial|publish|session)|tls)\\.ts$"),
    ...pkg("nodemailer"),
  ],
  config: [...whole("domain"), ...pkg("zod", "yaml")],
  tools: [
    ...whole("domain", "contract", "config", "reports", "acquisition"),
    ANY_DOOR,
    ...pkg("fflate", "read-excel-file", "saxes", "smol-toml", "uqr", "yaml"),
  ],
  api: [...whole("domain", "contract", "config", "reports", "tools"), ANY_DOOR],
  cli: [...whole("domain", "contract", "config", "reports", "tools"), ANY_DOOR],
  runtime: ["^src/", ...pkg("pino")],
};
/**
 * The layers of the reference service, lowest first, each with the layers and packages it may import. A layer imports only lower ones.
 * The files at the root of `simulators/service` compose them and may import each.
 */
const service = (path) => `^simulators/service/${path}`;
const SERVICE = {
  base: [],
  contract: [...pkg("zod")],
  faults: [...pkg("zod")],
  storage: [...layers("base"), ...pkg("better-sqlite3", "pg")],
  accounts: [...layers("base", "storage"), ...pkg("bcryptjs", "nodemailer")],
  ingest: [...layers("base", "storage"), ...pkg("zod")],
  figures: layers("base", "storage", "ingest"),
  http: [...layers("base", "contract", "faults", "storage", "accounts"), ...pkg("zod", "fastify")],
  events: layers("base", "storage", "accounts", "figures", "http"),
  mqtt: [...layers("base", "faults", "storage", "accounts", "ingest", "http"), ...pkg("aedes", "mqtt")],
  fleet: [...layers("base", "storage", "ingest", "figures"), "^simulators/clock\\.ts$", ...pkg("pg")],
  provisioning: [...layers("base", "storage", "accounts", "ingest", "http"), ...pkg("zod")],
  resources: [
    ...layers("base", "storage", "accounts", "ingest", "figures", "http", "events", "fleet", "provisioning"),
    ...pkg("zod"),
  ],
  reports: layers("base", "storage", "accounts", "ingest", "http", "events", "resources"),
  owner: [...layers("base", "accounts", "http"), ...pkg("fastify")],
  operate: [...layers("base", "storage", "accounts", "http", "provisioning", "resources"), ...pkg("zod", "csv-parse")],
  admin: [...layers("faults", "storage", "accounts", "ingest", "http", "mqtt"), ...pkg("zod", "fastify")],
  // It plays a booth's history with the PLC's model.
  demo: [...layers("base", "storage", "accounts", "ingest"), "^simulators/plc/"],
};
function layers(...names) {
  return names.map((name) => service(`${name}/`));
}
/** Nothing of Node: they run under virtual time. */
const PURE = ["domain", "derivation", "reports", "contract"];
/** Who may use it. */
const OF_NODE = {
  path: whole(...Object.keys(STATIONS).filter((name) => !PURE.includes(name))),
  pathNot: "/rules/",
};
/** What simulators may know of the domain: names and shapes, nothing that computes. */
const NOUNS = "booth|error-message|parameters|profile|record|signal|time|trace|units";
/** Neither knows of the other. */
const STRANGERS = [
  ["acquisition/modbus", "acquisition/opcua"],
  ["delivery/mqtt", "delivery/http"],
  ["acquisition", "delivery"],
  ["store/log", "store/retention"],
];
const between = (from, to) => ({
  name: `${from}-not-to-${to}`.replaceAll("/", "-"),
  severity: "error",
  from: { path: src(`${from}/`) },
  to: { path: src(`${to}/`) },
});

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
    {
      name: "rules-not-to-loops",
      comment: "A station's rules know its shapes at the door, and nothing of its loops.",
      severity: "error",
      from: { path: "^src/([a-z]+)/rules/" },
      to: { path: "^src/$1/", pathNot: ["^src/$1/rules/", "^src/$1/port\\.ts$"] },
    },
    {
      name: "repair-by-its-doors",
      comment: "A salvage is asked for by its one function alone; its types are anybody's.",
      severity: "error",
      from: { path: "^src/", pathNot: src("store/repair/") },
      to: {
        path: src("store/repair/"),
        pathNot: src("store/repair/salvage\\.ts$"),
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "workshop-thread-without-addons",
      comment:
        "The thread may be ended at any moment. Ending a thread while it loads a native addon can end the whole process.",
      severity: "error",
      from: { path: src("runtime/workshop-worker\\.ts$") },
      to: { path: "node_modules/(modbus-serial|serialport|@serialport|better-sqlite3|node-opcua)", reachable: true },
    },
    {
      name: "runtime-not-to-cli",
      comment:
        "The page does what the command line does by functions of the tools. Only the list of commands loads commands.",
      severity: "error",
      from: { path: src("runtime/"), pathNot: src("runtime/commands\\.ts$") },
      to: { path: src("cli/") },
    },
    {
      name: "conform-not-to-service",
      comment: "The kit tests any service, so it knows the contract's files and nothing of a service's code.",
      severity: "error",
      from: { path: "^simulators/conform/" },
      to: { path: "^simulators/service/", reachable: true },
    },
    {
      name: "checker-knows-no-code",
      comment: "The checker judges deliveries independently: a fault that it shared with the code would stay hidden.",
      severity: "error",
      from: { path: "^test/checker/check\\.mjs$" },
      to: { dependencyTypesNot: ["core"] },
    },
    ...STRANGERS.flatMap(([one, other]) => [between(one, other), between(other, one)]),
  ],
  allowedSeverity: "error",
  allowed: [
    ...Object.entries(STATIONS).map(([name, to]) => ({
      from: { path: src(`${name}/`) },
      to: { path: [src(`${name}/`), ...to] },
    })),
    { from: OF_NODE, to: { dependencyTypes: ["core"] } },
    // Node's own clock, as lightly as it can be had.
    { from: OF_NODE, to: { path: src("monotonic\\.ts$") } },
    { from: { path: src("monotonic\\.ts$") }, to: { path: src("domain/units\\.ts$") } },
    // Files of certificates, keys and secrets, read and judged in one place.
    { from: OF_NODE, to: { path: src("credential-files\\.ts$") } },
    // What quotes of a secret are found by.
    { from: { path: src("(runtime|cli|tools)/") }, to: { path: src("scrubber\\.ts$") } },
    { from: { path: src("scrubber\\.ts$") }, to: { path: src("domain/machine\\.ts$") } },
    { from: { path: src("credential-files\\.ts$") }, to: { path: src("domain/") } },
    { from: { path: src("credential-files\\.ts$") }, to: { dependencyTypes: ["core"] } },
    { from: { path: src("contract/hash\\.ts$") }, to: { path: "^(node:)?crypto$" } },
    { from: { path: src("main\\.(ts|cjs)$") }, to: { path: src("(main\\.cjs|runtime/commands\\.ts)$") } },
    { from: { path: src("main\\.(ts|cjs)$") }, to: { dependencyTypes: ["core"] } },
    // They compute on their own: of the agent they know its nouns, and the profiles that both sides read.
    {
      from: { path: "^simulators/" },
      to: { path: [src(`domain/(${NOUNS})\\.ts$`), src("config/(profile|port)")] },
    },
    {
      from: { path: "^simulators/", pathNot: "^simulators/service/" },
      to: { path: ["^simulators/", "node_modules/"] },
    },
    ...Object.entries(SERVICE).map(([name, to]) => ({
      from: { path: service(`${name}/`) },
      to: { path: [service(`${name}/`), ...to] },
    })),
    {
      from: { path: service("[a-z-]+\\.ts$") },
      to: { path: [service(""), "^simulators/[a-z-]+\\.ts$", ...pkg("fastify", "pg")] },
    },
    // It plays gateways by the agent's own sending, cursor, wire and rows.
    {
      from: { path: "^simulators/fleet/" },
      to: { path: [...whole("domain", "contract", "delivery"), ...door("store"), src("store/log/pack\\.ts$")] },
    },
    // It plays a gateway by the agent's own wire and rows.
    {
      from: { path: "^simulators/conform/" },
      to: { path: [...whole("domain", "contract"), src("store/log/(pack|chunk)\\.ts$")] },
    },
    { from: { path: "^simulators/" }, to: { dependencyTypes: ["core"] } },
    // It runs the gateway itself, whole, under virtual time.
    { from: { path: "^simulators/virtual/" }, to: { path: "^src/" } },
    // It reads and packs the rest as files, and runs nothing of it.
    { from: { path: "^systemd/" }, to: { path: ["^systemd/", ...pkg("better-sqlite3", "rolldown")] } },
    { from: { path: "^systemd/" }, to: { dependencyTypes: ["core"] } },
    { from: { path: "^test/" }, to: {} },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      extensions: [".ts", ".js", ".cjs", ".mjs", ".json", ".d.ts"],
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default", "types"],
    },
  },
};
