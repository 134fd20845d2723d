import { setTimeout as delay } from "node:timers/promises";
import type { BoothStatus } from "../core/types/status.ts";
import { AGENT_OPTIONS, askAgent, socketPath } from "./agent-client.ts";
import { CommandError, EXIT, type Command, type Io } from "./command.ts";
import { LOOK_EVERY_MS, lookAtBooth, mustAgree, PATIENCE_MS } from "./one-booth.ts";
import { lasting } from "./text.ts";

export const releaseCommand: Command = {
  name: "release",
  operands: "",
  summary: "give a booth up: another gateway, or another serial number, may have it then",
  options: {
    ...AGENT_OPTIONS,
    booth: { value: "ID", text: "which booth of the configuration, where there are several" },
    "wrong-serial": {
      value: "",
      text: "the serial number was mistyped: what was sent is taken off that booth, and kept here",
    },
    decommission: { value: "", text: "the booth is taken out of service for good" },
    yes: { value: "", text: "without asking" },
  },
  notes: [
    "What was recorded is delivered first; without a network it waits for that, and may be left alone.",
    "Readings go on being taken and kept. Exit code 0: given up, or under way; 1: refused, with the reason.",
  ],
  async run({ values, io }) {
    const socket = socketPath(values, io);
    const booth = typeof values["booth"] === "string" ? { booth: values["booth"] } : {};
    const before = await lookAtBooth(socket, booth.booth);
    if (values["yes"] !== true) await ask(before, io);
    const to = values["decommission"] === true ? "decommissioned" : "released";
    const body = { ...booth, to, wrong_serial: values["wrong-serial"] === true };
    await askAgent(socket, { method: "POST", path: "/release", body });
    const quiet = values["json"] === true;
    const last = await follow({ socket, booth: booth.booth, to, quiet }, io);
    if (quiet) io.out(`${JSON.stringify(last, null, 2)}\n`);
    return EXIT.ok;
  },
};

async function ask({ booth, serial, provisioning }: BoothStatus, io: Io): Promise<void> {
  const what = `${serial ?? "no serial number"}, ${[provisioning.account, provisioning.facility].filter(Boolean).join(", ")}`;
  const question = `Give ${booth} (${what}) up?`;
  await mustAgree(io, { question, nobody: "run it again with --yes", no: "nothing was changed" });
}

interface Following {
  readonly socket: string;
  readonly booth: string | undefined;
  readonly to: string;
  readonly quiet: boolean;
}

async function follow({ socket, booth, to, quiet }: Following, io: Io): Promise<BoothStatus> {
  const started = performance.now();
  let shown = "";
  for (;;) {
    const now = await lookAtBooth(socket, booth);
    const waiting = (now.log.newest_seq - now.log.acked_seq).toString();
    const text = now.provisioning.state === to ? to : now.provisioning.reason || `${waiting} records to deliver first`;
    if (text !== shown && !quiet) io.out(`  ${lasting(performance.now() - started).padStart(8)}  ${text}\n`);
    shown = text;
    if (now.provisioning.state === to) return now;
    if (performance.now() - started > PATIENCE_MS) {
      throw new CommandError('still waiting; it goes on by itself, "booth-gateway status" shows how');
    }
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}
