/**
 * Who may import whom, as an allow-list: an import that no rule allows is an error.
 * NODE stands for Node's own modules; PKG(names) for packages of the registry.
 */
const own = (folder) => `^${folder}/`;
const pkg = (...names) => names.map((name) => `node_modules/(@types/)?${name}/`);
const allow = (from, folders, packages, node) => ({
  from: { path: from },
  to: { path: [...folders, ...pkg(...packages), ...(node ? ["^[a-z_/]+$"] : [])] },
});
const nodeCore = (from) => ({ from: { path: from }, to: { dependencyTypes: ["core"] } });
const core = own("src/core");
const ports = "^src/ports\\.ts$";
const wire = own("src/wire");
const report = own("src/report");
const config = own("src/config");

module.exports = {
  forbidden: [
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "not-to-unresolvable", severity: "error", from: {}, to: { couldNotResolve: true } },
  ],
  allowedSeverity: "error",
  allowed: [
    allow(core, [core], []),
    allow(ports, [core], []),
    allow(wire, [wire, core], ["zod"]),
    allow(own("src/drivers"), [core, ports, own("src/drivers")], ["modbus-serial", "serialport", "node-opcua-client"]),
    allow(own("src/store"), [core, ports, own("src/store")], ["better-sqlite3"]),
    allow(report, [core, ports, report], []),
    allow(own("src/cloud"), [core, ports, wire, own("src/cloud")], ["mqtt", "p-retry"]),
    allow(own("src/agent"), [core, ports, report, own("src/agent")], []),
    allow(own("src/api"), [report, wire, ports, config, core, own("src/api")], []),
    allow(own("src/cli"), [report, wire, ports, config, core, own("src/cli")], []),
    allow(config, [core, config], ["zod", "yaml"]),
    allow(own("src/platform"), [core, ports, own("src/platform")], ["pino"]),
    allow(
      "^src/(main\\.(ts|cjs)|commands\\.ts|(compose(-page|-plc|-service)?|state-view)\\.ts|(reports|certificate)-worker\\.ts)$",
      [own("src")],
      [],
    ),
    {
      from: { path: "^simulators/" },
      to: {
        path: ["^simulators/", "^src/core/types/", "^src/core/types\\.ts$", "^src/config/profile", "node_modules/"],
      },
    },
    // It reads and packs the rest as files, and runs nothing of it.
    allow("^systemd/", ["^systemd/"], ["rolldown"]),
    nodeCore("^systemd/"),
    { from: { path: "^test/" }, to: {} },
    ...["wire", "drivers", "store", "cloud", "agent", "api", "cli", "config", "platform"].map((name) =>
      nodeCore(own(`src/${name}`)),
    ),
    nodeCore("^src/(main|commands|compose(-page|-plc|-service)?|state-view|(reports|certificate)-worker)\\.(ts|cjs)$"),
    nodeCore("^simulators/"),
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
