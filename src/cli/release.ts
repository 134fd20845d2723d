import { setTimeout as delay } from "node:timers/promises";
import type { BoothStatus } from "../domain/status.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Io, type Run } from "./command.ts";
import { LOOK_EVERY_MS, lookAtBooth, mustAgree, PATIENCE_MS } from "./one-booth.ts";
import { lasting } from "./text.ts";

export const releaseCommand: Run = (call) => leave(call, "released");
export const decommissionCommand: Run = (call) => leave(call, "decommissioned");

async function leave({ values, io }: Call, to: "released" | "decommissioned"): Promise<number> {
  const socket = await socketPath(values, io);
  const booth = typeof values["booth"] === "string" ? { booth: values["booth"] } : {};
  const before = await lookAtBooth(socket, booth.booth);
  if (values["yes"] !== true) await ask(before, io);
  const body = { ...booth, to, wrong_serial: values["wrong-serial"] === true };
  await askAgent(socket, { method: "POST", path: "/release", body });
  const quiet = values["json"] === true;
  const last = await follow({ socket, booth: booth.booth, to, quiet }, io);
  if (quiet) io.out(`${JSON.stringify(last, null, 2)}\n`);
  return EXIT.ok;
}

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
