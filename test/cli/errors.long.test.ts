import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { say } from "./say.ts";
import { lock, temporaryFolder } from "../support/temporary.ts";

/** Commands that ask the agent first, and commands that read the configuration first. */
const ASKING = [["status"], ["backlog"], ["durations"], ["history", "mode"], ["filters"], ["explain", "runtime"]];
const DOING = [
  ["rebuild"],
  ["reconcile"],
  ["page"],
  ["release", "--yes"],
  ["decommission", "--yes"],
  ["provision", "ABCD-1", "--yes"],
];
const READING = [["run"], ["check"], ["plan"], ["tags"], ["record", "--out", "/nowhere/x"], ["store", "check"]];

interface Told {
  readonly argv: readonly string[];
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

/** Runs `run`, `status` and commands without root's rights as processes, the others in this process, which is ten times faster. */
async function tellEach(
  commands: readonly (readonly string[])[],
  config: string,
  options: { readonly mortal?: boolean } = {},
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const argv of commands) {
    const whole = [...argv, "--config", config];
    const isProcess = options.mortal === true || argv[0] === "run" || argv[0] === "status";
    told.push({ argv, ...(isProcess ? await runProgram(GATEWAY, whole, options) : await say(whole)) });
  }
  return told;
}

function configIn(folder: string, more = ""): string {
  const file = join(folder, "gateway.yaml");
  const booth = "{ id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1, port: 9 } }";
  const dirs = `data_dir: ${folder}\nruntime_dir: ${folder}\n`;
  writeFileSync(file, `${dirs}service: { url: "https://service.example" }\nbooths: [${booth}]\n${more}`);
  return file;
}

describe("a command that fails", { timeout: MANY_PROCESSES_MS }, () => {
  it("exits with 78 and says how to create the configuration file if the file does not exist", async () => {
    const file = join(temporaryFolder(), "gateway.yaml");
    for (const { argv, ...told } of await tellEach([...READING, ["status"]], file)) {
      const err = `${file}: cannot be read: the file does not exist (copy config/gateway.example.yaml there and adapt it, or name another file with --config)\n`;
      expect({ argv, ...told }).toEqual({ argv, code: 78, out: "", err });
    }
  });

  it("exits with 78 and shows the line and closest name for a configuration fault, while status still asks the agent", async () => {
    const file = configIn(temporaryFolder(), "log_levle: info\n");
    for (const { argv, ...told } of await tellEach([["run"], ["check"], ["store", "check"]], file)) {
      const err = `${file}:5:1: log_levle: unknown key "log_levle" (did you mean "log_level"?)\n    5 | log_levle: info\n      | ^\n`;
      expect({ argv, ...told }).toEqual({ argv, code: 78, out: "", err });
    }
    const [status] = await tellEach([["status"]], file);
    expect(status).toMatchObject({ code: 69, out: "" });
    expect(status?.err).toContain("the agent is not running");
  });

  it("exits with 69 and says how to start the agent if the agent is not running", async () => {
    const folder = temporaryFolder();
    for (const { argv, ...told } of await tellEach([...ASKING, ...DOING], configIn(folder))) {
      const sentence = `the agent is not running (no answer at ${folder}/agent.sock); start it with "systemctl start booth-gateway" or "booth-gateway run"`;
      const err = `booth-gateway ${argv[0] ?? ""}: ${sentence}\n`;
      expect({ argv, ...told }).toEqual({ argv, code: 69, out: "", err });
    }
  });

  it("exits with 77 and says how to get access if it may not open the socket or the configuration", async () => {
    const folder = temporaryFolder();
    const file = configIn(folder);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(folder, "agent.sock"), resolve));
    onTestFinished(() => void server.close());
    chmodSync(join(folder, "agent.sock"), 0);
    for (const { argv, ...told } of await tellEach([["status"], ["release", "--yes"]], file, { mortal: true })) {
      const err = `booth-gateway ${argv[0] ?? ""}: no right to open the agent's socket ${folder}/agent.sock; use sudo, or join the group that owns it ("usermod -aG booth-gateway USER", then log in again)\n`;
      expect({ argv, ...told }).toEqual({ argv, code: 77, out: "", err });
    }
    chmodSync(file, 0);
    for (const { argv, ...told } of await tellEach([["run"], ["check"], ["status"]], file, { mortal: true })) {
      const err = `${file}: cannot be read: permission denied (run the command with sudo, or join the group that has access)\n`;
      expect({ argv, ...told }).toEqual({ argv, code: 77, out: "", err });
    }
  });

  it("exits with 77 and advises sudo if it may not write to the folder", async () => {
    const folder = temporaryFolder();
    lock(folder);
    const { code, out, err } = await runProgram(GATEWAY, ["schemas", folder], { mortal: true });
    expect({ code, out }).toEqual({ code: 77, out: "" });
    expect(err).toMatch(/^booth-gateway schemas: you have no right to do that \(EACCES: [^\n]+\): use sudo\n$/);
  });
});
