import { setTimeout as delay } from "node:timers/promises";
import type { Reconciliation } from "../domain/reconciliation.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";
import { boothName, tableText } from "./report-options.ts";

/** How often the comparison is looked at. */
const LOOK_EVERY_MS = 500;

type Done = Extract<Reconciliation, { kind: "done" }>;

/** `booth-gateway reconcile`: a day's figures here and at the service, and what is missing there sent again. */
export const reconcileCommand: Run = async ({ values, io }) => {
  const socket = await socketPath(values, io);
  const booth = await boothName(values, io);
  const day = typeof values["day"] === "string" ? { day: values["day"] } : {};
  const body = { booth, ...day };
  // The agent answers its own shape.
  let now = (await askAgent(socket, { method: "POST", path: "/reconcile", body })) as Reconciliation;
  while (now.kind === "running") {
    io.progress(`comparing ${now.day}`);
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
    const path = `/reconcile?${new URLSearchParams({ booth, id: now.id }).toString()}`;
    now = (await askAgent(socket, { method: "GET", path })) as Reconciliation;
  }
  io.progress("");
  if (now.kind === "failed") throw new CommandError(`${now.day} can't be compared now: ${now.reason}`);
  print({ values, io }, now, reconciledText);
  return now.remaining.length === 0 ? EXIT.ok : EXIT.failed;
};

/** What came of a comparison, for people. */
export function reconciledText(done: Done): string {
  const { day, compared, differed, hours, resent, remaining, algorithm } = done;
  const head = `${day}: ${compared.toString()} figures compared, ${differed.toString()} differed\n`;
  const sent = hours === 0 ? "" : `${resent.toString()} records of ${hours.toString()} hours sent again\n`;
  if (remaining.length === 0) return `${head}${sent}the same on both sides\n`;
  const why = algorithm
    ? "both sides hold the same records and make other figures of them: tell whoever runs the service\n"
    : "records differ still: run it again; what the service refuses stands in the backlog\n";
  const rows = remaining.map(({ figure, gateway, service }) => [
    figure,
    String(gateway ?? "-"),
    String(service ?? "-"),
  ]);
  return `${head}${sent}${tableText(["differs still", "here", "service"], rows)}${why}`;
}
