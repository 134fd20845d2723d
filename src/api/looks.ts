import { message, type Text } from "../domain/message.ts";
import { rendered } from "../domain/messages/render.ts";
import { wantsMessages } from "./wants-messages.ts";
import type { BodyOf } from "../contract/local.ts";
import { metricsOf } from "../contract/metrics.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { processFigures, prometheusText } from "./metrics.ts";
import { boothOf, type Call, fullStatus, type LocalAnswer, needed, ok, Refusal, type Services } from "./operation.ts";

/** Returns the agent's status. */
export function status(_: Call, services: Services): LocalAnswer {
  return ok(fullStatus(services));
}

/**
 * Streams the live view. On this machine, a page gets the status even without a session; on the network, the stream ends with the session.
 */
export function events({ channel, sender, query, feed, sees_all }: Call, { control }: Services): LocalAnswer {
  const booth = control.status().booths.find((one) => one.booth === query["booth"])?.booth ?? null;
  const without = channel === "lan" ? "nothing" : "status";
  const view = { sender, booth, said: wantsMessages(query), sees: () => (sees_all() ? "all" : without) } as const;
  return {
    writes(response) {
      if (!feed.attach(response, view)) throw new Refusal(503, message("ask.too_many_pages"));
    },
  };
}

export async function backlog(_: Call, { control }: Services): Promise<LocalAnswer> {
  return ok(await control.backlog());
}

/** Returns 503 if readings of a booth can't be committed, so that a monitoring system can raise an alarm. */
export function health(_: Call, { control }: Services): LocalAnswer {
  const troubled = control.status().booths.filter(({ log }) => log.trouble !== "");
  if (troubled.length === 0) return ok({ status: "ok" });
  const error = troubled
    .map(({ booth, log }): Text => message("text.at", { place: booth, text: log.trouble }))
    .reduce((text, todo) => message("text.todo", { text, todo }));
  return { status: 503, body: { status: "failing", error } };
}

export async function metrics(_: Call, { control }: Services): Promise<LocalAnswer> {
  return ok(await metricsText(control));
}

/** Returns the agent's metrics in the text format of Prometheus. */
export async function metricsText(control: Pick<AgentControl, "status" | "counts">): Promise<string> {
  return prometheusText(metricsOf(control.status(), control.counts(), await processFigures()));
}

export function readings({ query }: Call, { control }: Services): LocalAnswer {
  const { booth } = boothOf(control, query["booth"]);
  return ok({ booth, readings: control.readings(booth) });
}

export function logLines(_: Call, { log }: Services): LocalAnswer {
  return ok({ lines: log?.() ?? [] });
}

export function support(_: Call, services: Services): LocalAnswer {
  const headers = { "Content-Disposition": 'attachment; filename="booth-gateway-report.json"' };
  return { ...ok(supportReport(services)), headers };
}

/** Stores a person's question to support, with a report of the box's state. */
export async function askForHelp(call: Call<BodyOf<"help">>, services: Services): Promise<LocalAnswer> {
  const store = needed(services.storeHelp, message("ask.lacks.help"));
  const report = rendered({ ...call.body(), ...supportReport(services) });
  return ok({ id: await store(`${JSON.stringify(report, null, 2)}\n`) }, 201);
}

/** Returns the state for support: status, counts, last readings and newest log lines. None of these can contain a secret. */
function supportReport({ control, log }: Services) {
  const now = control.status();
  const readings = Object.fromEntries(now.booths.map(({ booth }) => [booth, control.readings(booth)]));
  return { status: now, counts: control.counts(), readings, log: log?.() ?? [] };
}
