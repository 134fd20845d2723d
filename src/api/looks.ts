import type { BodyOf } from "../contract/local.ts";
import { metricsOf } from "../contract/metrics.ts";
import { processFigures, prometheusText } from "./metrics.ts";
import { wantsSaid } from "./said.ts";
import { boothOf, type Call, type LocalAnswer, needed, Refusal, type Services, toldStatus } from "./operation.ts";
import { say } from "../domain/sentences.ts";

/** What can be looked at and changes nothing. */
export function status(_: Call, services: Services): LocalAnswer {
  return { status: 200, body: toldStatus(services) };
}

/** A page on this machine may look at the status without a session; on the network nothing goes on once it has ended. */
export function events({ way, sender, query, feed, sees_all }: Call, { control }: Services): LocalAnswer {
  const booth = control.status().booths.find((one) => one.booth === query["booth"])?.booth ?? null;
  const without = way === "lan" ? "nothing" : "status";
  const view = { sender, booth, said: wantsSaid(query), sees: () => (sees_all() ? "all" : without) } as const;
  return {
    writes(response) {
      if (!feed.attach(response, view)) throw new Refusal(503, say("ask.too_many_pages"));
    },
  };
}

export async function backlog(_: Call, { control }: Services): Promise<LocalAnswer> {
  return { status: 200, body: await control.backlog() };
}

/** 503 where a booth's readings can't be committed: what a watchdog of others should wake somebody for. */
export function health(_: Call, { control }: Services): LocalAnswer {
  const troubled = control.status().booths.filter(({ log }) => log.trouble !== "");
  if (troubled.length === 0) return { status: 200, body: { status: "ok" } };
  const error = troubled.map(({ booth, log }) => `${booth}: ${log.trouble}`).join("; ");
  return { status: 503, body: { status: "failing", error } };
}

export async function metrics(_: Call, { control }: Services): Promise<LocalAnswer> {
  const known = metricsOf(control.status(), control.counts(), await processFigures());
  return { status: 200, body: prometheusText(known) };
}

export function readings({ query }: Call, { control }: Services): LocalAnswer {
  const { booth } = boothOf(control, query["booth"]);
  return { status: 200, body: { booth, readings: control.readings(booth) } };
}

export function logLines(_: Call, { log }: Services): LocalAnswer {
  return { status: 200, body: { lines: log?.() ?? [] } };
}

export function support(_: Call, services: Services): LocalAnswer {
  const headers = { "Content-Disposition": 'attachment; filename="booth-gateway-report.json"' };
  return { status: 200, body: supportReport(services), headers };
}

/** Keeps the question with a report of the box's state, for whoever comes to help. */
export async function askForHelp(call: Call<BodyOf<"help">>, services: Services): Promise<LocalAnswer> {
  const store = needed(services.storeHelp, "this agent keeps no reports");
  const report = { ...call.body(), ...supportReport(services) };
  return { status: 201, body: { id: await store(`${JSON.stringify(report, null, 2)}\n`) } };
}

/**
 * What whoever helps may see: status, counts, what the PLC said last, the newest log lines. All of it by name; none of these
 * types has a field for a secret.
 */
function supportReport({ control, log }: Services) {
  const now = control.status();
  const readings = Object.fromEntries(now.booths.map(({ booth }) => [booth, control.readings(booth)]));
  return { status: now, counts: control.counts(), readings, log: log?.() ?? [] };
}
