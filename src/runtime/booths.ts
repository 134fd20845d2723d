import { isDeepStrictEqual } from "node:util";
import { type BoothSetup, createSharedLinks, linkOf, pollLoop } from "../acquisition/link.ts";
import type { SharedConnection } from "../acquisition/modbus/shared-connection.ts";
import { linkBegins } from "../acquisition/rules/link.ts";
import type { SharedConnectionStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { ProvisioningGateway } from "../provisioning/context.ts";
import { applyEvent, provisionLoop } from "../provisioning/loop.ts";
import { configLoop } from "../provisioning/commands/config-changed.ts";
import { reconcileLoop } from "../provisioning/reconcile.ts";
import { reportLoop } from "../provisioning/reported-fields.ts";
import { type Booth, openBooth } from "./booth.ts";
import type { Gateway } from "./gateway.ts";
import type { Loop, Loops, Part, Parts } from "./parts.ts";

/** A booth, what goes on between it and the service, and what writes its log. */
interface OpenBooth {
  readonly booth: Booth;
  readonly part: Part;
  readonly writer: Part;
}

/** A physical link, and who is polled over it. */
interface OpenLink {
  /** As it was begun with. */
  readonly setups: readonly BoothSetup[];
  readonly part: Part;
  readonly connections: Awaited<ReturnType<typeof sharedConnections>>;
}

/**
 * The agent's booths and links, which come and go while it runs. What of a booth hangs on its configuration, its link's loop and how
 * its PLC is read, ends and begins with that; its log, binding and delivery go on as long as the booth is configured.
 */
export function createBooths(gateway: Gateway, provisioning: ProvisioningGateway, parts: Parts) {
  /** Live: whoever looks after all booths looks anew each time. */
  const booths: Booth[] = [];
  const open = new Map<BoothId, OpenBooth>();
  const links = createLinks(gateway, parts);
  const opened = async (setups: readonly BoothSetup[]): Promise<readonly Booth[]> => {
    const all: Booth[] = [];
    try {
      // One after the other. Of many that takes seconds on a busy machine, and a stop doesn't wait for it.
      for (const setup of setups) {
        parts.signal.throwIfAborted();
        all.push(await openBooth(gateway, setup, { gateway: provisioning, all: booths }));
      }
      parts.signal.throwIfAborted();
      return all;
    } catch (error) {
      for (const booth of all) booth.leave();
      throw error;
    }
  };
  const add = (booth: Booth): void => {
    const writer = parts.beginWriter({
      [`committer of ${booth.state.booth}`]: (signal) => booth.log.committer.run(signal),
    });
    const part = parts.begin(loopsOf(booth));
    open.set(booth.state.booth, { booth, part, writer });
  };
  const remove = async (id: BoothId): Promise<void> => {
    const { booth, part, writer } = open.get(id) ?? {};
    open.delete(id);
    await part?.end();
    await writer?.end();
    booth?.leave();
  };
  const boothOf = ({ config }: BoothSetup): Booth | undefined => open.get(config.id)?.booth;
  return {
    booths,
    links,
    /** Throws for an unknown one. */
    find: (id: BoothId): Booth => {
      const booth = open.get(id)?.booth;
      if (booth === undefined) throw new Error(`no booth ${id} is configured here: ${[...open.keys()].join(", ")}`);
      return booth;
    },
    /** Aborted when the booth ends. */
    signalOf: (id: BoothId): AbortSignal => open.get(id)?.part.signal ?? parts.signal,
    /**
     * Goes over to these: what isn't touched by the change isn't touched. Rejects where a new booth can't be opened, and then all
     * is as it was.
     */
    async become(setups: readonly BoothSetup[]): Promise<void> {
      const known = new Set(open.keys());
      for (const booth of await opened(setups.filter(({ config }) => !known.has(config.id)))) add(booth);
      const begin = await links.ended(setups);
      const here = setups.flatMap((setup) => boothOf(setup) ?? []);
      const left = booths.filter((booth) => !here.includes(booth));
      // In one step, so that nobody sees some of it.
      booths.splice(0, booths.length, ...here);
      await Promise.all(left.map(({ state }) => remove(state.booth)));
      for (const setup of begin) {
        const booth = boothOf(setup);
        if (known.has(setup.config.id)) booth?.readBy(setup);
        // Not waited for: a disk that refuses the row mustn't keep the polls back.
        if (booth !== undefined) void preseed(booth).catch(parts.failed);
      }
      await links.begun(begin, (setup) => boothOf(setup) ?? []);
      gateway.news.raise();
    },
  };
}

/** The physical links. Where anything of a booth on it is another, a link ends and begins for all its booths. */
function createLinks(gateway: Gateway, parts: Parts) {
  const links = new Map<string, OpenLink>();
  const shared = createSharedLinks(gateway.clock);
  return {
    /** Where tools ask over them. */
    shared,
    status: (): readonly SharedConnectionStatus[] =>
      [...links.values()].flatMap(({ connections }) => connections.map((one) => one.status())),
    /** Ends those that aren't as these booths want them; gives the booths whose link is to be begun. */
    async ended(setups: readonly BoothSetup[]): Promise<readonly BoothSetup[]> {
      const wanted = Map.groupBy(setups, linkOf);
      const touched = [...links].filter(([link, { setups: before }]) => !areSame(before, wanted.get(link) ?? []));
      const end = async ([link, { part }]: readonly [string, OpenLink]): Promise<void> => {
        await part.end();
        links.delete(link);
        shared.ended(link);
      };
      await Promise.all(touched.map(end));
      return setups.filter((setup) => !links.has(linkOf(setup)));
    },
    async begun(setups: readonly BoothSetup[], boothOf: (setup: BoothSetup) => Booth | []): Promise<void> {
      const wanted = [...Map.groupBy(setups, linkOf)];
      const begins = linkBegins(
        wanted.length,
        setups.map(({ parameters }) => parameters.groups),
      );
      for (const [index, [link, together]] of wanted.entries()) {
        const booths = together.flatMap(boothOf);
        const way = { link, booths, begins_in: begins[index] ?? 0, shared: shared.begun(link, booths) };
        const connections = await sharedConnections(gateway, booths, shared.askPlc);
        const part = parts.begin({
          [`polls of ${link}`]: (signal) => pollLoop(gateway, way, signal),
          ...Object.fromEntries(
            connections.map((one): [string, Loop] => [
              `shared connection of ${one.status().booth}`,
              (signal) => one.run(signal),
            ]),
          ),
        });
        links.set(link, { setups: together, part, connections });
      }
    },
  };
}

/** Whether a link that was begun with some is the one that others want. */
function areSame(before: readonly BoothSetup[], wanted: readonly BoothSetup[]): boolean {
  const said = (setups: readonly BoothSetup[]) =>
    new Map(setups.map(({ config, profile }) => [config.id, [config, profile]]));
  return before.length === wanted.length && isDeepStrictEqual(said(before), said(wanted));
}

function loopsOf(booth: Booth): Loops {
  const id = booth.state.booth;
  return {
    [`provisioning of ${id}`]: (signal) => provisionLoop(booth, signal),
    [`reported fields of ${id}`]: (signal) => reportLoop(booth, signal),
    [`parameters of ${id}`]: (signal) => followService(booth, signal),
    [`configuration trial of ${id}`]: (signal) => configLoop(booth, signal),
    [`reconciliation of ${id}`]: (signal) => reconcileLoop(booth, signal),
  };
}

/** PLCs that others read through this box; what serves them is loaded where there are any. */
async function sharedConnections({ clock, log }: Gateway, booths: readonly Booth[], ask: SharedConnection["ask"]) {
  const wanted = booths.flatMap(({ setup: { config, polled, link }, state: { booth } }) => {
    const share = config.modbus?.share;
    return share === undefined || polled === undefined || link === undefined ? [] : [{ booth, share, polled, link }];
  });
  if (wanted.length === 0) return [];
  const { openSharedConnection } = await import("../acquisition/modbus/shared-connection.ts");
  return wanted.map((one) => openSharedConnection({ ...one, ask, clock, log }));
}

/** A serial in the configuration is the operator's word: it needs no further confirmation. A row that exists is left alone. */
async function preseed(booth: Booth): Promise<void> {
  const { serial } = booth.setup.config;
  if (serial === undefined || booth.binding.row.state !== "unprovisioned") return;
  const confirmed = { by: "configuration", note: "serial number preseeded" };
  await applyEvent(booth, { kind: "serial_entered", serial, confirmed });
}

/** What the service decides comes into force here as a parameter record. */
async function followService(booth: Booth, signal: AbortSignal): Promise<never> {
  let followed: unknown;
  let drifted = "";
  for (;;) {
    const { row, drift } = booth.binding;
    if (row.record !== followed) booth.logParameters();
    followed = row.record;
    if (drift !== drifted && drift !== "")
      booth.tell("service_drift", `the service's record can't be read as it should: ${drift}`);
    drifted = drift;
    await booth.state.news.wait(signal);
  }
}
