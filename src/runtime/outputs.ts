import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { processFigures } from "../api/metrics.ts";
import type { NoticeConfig } from "../config/port.ts";
import type { LoadedConfig } from "../config/usable.ts";
import { type Metric, metricsOf } from "../contract/metrics.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { linkDown, serviceLinkOf } from "../domain/link-status.ts";
import type { Clock, Logger, Scrubber } from "../domain/machine.ts";
import { message } from "../domain/message.ts";
import type { NoticeTest } from "../domain/notice.ts";
import type { NoticeStatus, OutputStatus } from "../domain/status.ts";
import type { Notices } from "../notices/port.ts";
import type { OutputMachine, Outputs } from "../outputs/port.ts";
import { durationsToday } from "../reports/summary.ts";
import type { Booth } from "./booth.ts";
import type { AgentSetup, Configured, Gateway } from "./gateway.ts";
import { type Part, type Parts, together } from "./parts.ts";
import { secretReader } from "./scrubbed.ts";

/** Opens outputs (brokers and collectors that receive the readings) and notices (messages to people about alarms). */

interface Place {
  readonly clock: Clock;
  readonly log: Logger;
  readonly runtime_dir: string;
  readonly scrubber: Scrubber;
}

type OutputPlace = Omit<OutputMachine, "cursor_file" | "secret" | "connect" | "store" | "identity"> &
  Pick<AgentSetup, "store" | "identity"> &
  Place;

/** Returns the outputs of a configuration. Their code is loaded only if any output is configured. */
export function outputsOf(
  { config: { outputs }, refused_outputs }: LoadedConfig["usable"],
  place: OutputPlace,
): Pick<Configured, "outputs" | "output_entries" | "refused_outputs"> {
  const { clock, log } = place;
  const refused = refused_outputs.map(({ name, kind, error }): OutputStatus => {
    const reason = error.brief();
    const advice = message("text.correct_entry");
    log.error({ event: "output_refused", output: name }, message("output.left_out", { name, reason, advice }));
    const link = linkDown(clock.wall(), reason, advice);
    return { name, kind, url: "", link, sent: 0, ignored: 0, booths: [] };
  });
  if (outputs.length === 0) return { refused_outputs: refused };
  const cursor_file = join(place.runtime_dir, "outputs.json");
  const machine = { ...place, cursor_file, secret: secretReader(place.scrubber) };
  return {
    refused_outputs: refused,
    output_entries: outputs,
    outputs: async (booths) => {
      const [{ openOutputs }, { brokerConnector }] = await Promise.all([
        import("../outputs/outputs.ts"),
        import("../outputs/broker.ts"),
      ]);
      return openOutputs({ ...machine, connect: brokerConnector(machine) }, outputs, booths);
    },
  };
}

/** Returns the notices of a configuration. Their code is loaded only if any notice is configured. */
export function noticesOf(
  { config: { notices }, refused_notices }: LoadedConfig["usable"],
  place: Place,
): Pick<Configured, "notices" | "notice_entries" | "refused_notices"> {
  const { clock, log, runtime_dir, scrubber } = place;
  const refused = refused_notices.map(({ name, error }): NoticeStatus => {
    const reason = error.brief();
    const advice = message("text.correct_entry");
    log.error({ event: "notice_refused", notice: name }, message("notice.left_out", { name, reason, advice }));
    const link = linkDown(clock.wall(), reason, advice);
    return { name, kind: "mail", where: "", link, waiting: 0, open: 0, sent: 0, last: null };
  });
  if (notices.length === 0) return { refused_notices: refused };
  return {
    refused_notices: refused,
    notice_entries: notices,
    notices: async (gateway, booths) => {
      const { openNotices } = await import("../notices/notices.ts");
      const { service, service_url } = gateway;
      const serviceLink = () => (service_url === null || !service.wanted ? null : serviceLinkOf(service, clock.mono()));
      const secret = secretReader(scrubber);
      return openNotices({ ...gateway, runtime_dir, scrubber, secret, service: serviceLink }, notices, booths);
    },
  };
}

/** Manages the agent's outputs, which may change while the agent runs. */
export function createOutputParts({ clock, store }: Gateway, booths: readonly Booth[], parts: Parts) {
  let open: Outputs | null = null;
  return {
    status: (): readonly OutputStatus[] => open?.status() ?? [],
    /** Switches to the outputs of a configuration and to the present booths. */
    async become({ outputs, output_entries = [] }: Configured): Promise<void> {
      const seen = booths.map(({ state, log, watch }) => ({
        state,
        readings: () => watch.readings(clock.mono()),
        durationsToday: async () => durationsToday(await store.state(log.reach.stream), log.now()),
      }));
      if (open !== null) await open.become(output_entries, seen);
      else if (outputs !== undefined) {
        const opened = await outputs(seen);
        parts.beginTeller({ outputs: (signal) => together(opened.run(signal), signal) });
        open = opened;
      }
    },
  };
}

/** Manages the agent's notices. All notices can be restarted after any change, because a notice stores which messages it has sent. */
export function createNoticeParts(gateway: Gateway, booths: readonly Booth[], parts: Parts) {
  let begun: { readonly notices: Notices; readonly part: Part } | null = null;
  let last: { readonly entries: readonly NoticeConfig[]; readonly booths: readonly Booth[] } = {
    entries: [],
    booths: [],
  };
  const isSame = (entries: readonly NoticeConfig[]): boolean =>
    isDeepStrictEqual(last.entries, entries) &&
    last.booths.length === booths.length &&
    last.booths.every((booth, index) => booth === booths[index]);
  return {
    status: (): readonly NoticeStatus[] => begun?.notices.status() ?? [],
    test: async (name: string | undefined): Promise<readonly NoticeTest[]> =>
      (await begun?.notices.test(name, parts.signal)) ?? [],
    /** Applies a new configuration: replaces the notices, and reports on its booths from now on. */
    async become({ notices: open, notice_entries: entries = [] }: Configured): Promise<void> {
      if (isSame(entries)) return;
      await begun?.part.end();
      last = { entries, booths: [...booths] };
      begun = null;
      if (open === undefined) return;
      const seen = booths.map(({ state, log }) => ({ state, trouble: () => log.trouble }));
      const notices = await open(gateway, seen);
      const part = parts.beginTeller({ notices: (signal) => together(notices.run(signal), signal) });
      begun = { notices, part };
    },
  };
}

/** Returns the agent's metrics of these booths, for outputs that push them. */
export async function figuresNow(
  begun: Promise<Pick<AgentControl, "status" | "counts">>,
  ids: readonly string[],
): Promise<readonly Metric[]> {
  const agent = await begun;
  const of = <T extends { readonly booth: string }>(all: readonly T[]): readonly T[] =>
    all.filter(({ booth }) => ids.includes(booth));
  const status = agent.status();
  return metricsOf({ ...status, booths: of(status.booths) }, of(agent.counts()), await processFigures());
}
