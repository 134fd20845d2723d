import { isDeepStrictEqual } from "node:util";
import { type BoothSetup, createSharedLinks, linkOf, pollLoop } from "../acquisition/link.ts";
import type { SharedConnection } from "../acquisition/modbus/shared-connection.ts";
import { linkBegins } from "../acquisition/rules/link.ts";
import type { SharedConnectionStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import { configLoop } from "../provisioning/commands/config-changed.ts";
import type { ProvisioningGateway } from "../provisioning/context.ts";
import { applyEvent, provisionLoop } from "../provisioning/loop.ts";
import { reconcileLoop } from "../provisioning/reconcile.ts";
import { reportLoop } from "../provisioning/reported-fields.ts";
import { type Booth, openBooth } from "./booth.ts";
import type { Gateway } from "./gateway.ts";
import type { Part, Parts } from "./parts.ts";

/** A running booth with its parts: the loops for the service, and the writer of its log. */
interface OpenBooth {
  readonly booth: Booth;
  readonly part: Part;
  readonly writer: Part;
}

/** A physical link and the booths that are polled over it. */
interface OpenLink {
  /** The setups with which the link was started. */
  readonly setups: readonly BoothSetup[];
  readonly part: Part;
  readonly connections: Awaited<ReturnType<typeof sharedConnections>>;
}

/**
 * Manages the agent's booths and links, which may change while the agent runs. If the configuration of a booth changes, only the loop of
 * its link restarts. Its log, its binding and its delivery continue as long as the booth is configured.
 */
export function createBooths(gateway: Gateway, provisioning: ProvisioningGateway, parts: Parts) {
  /** The running booths. The array is changed in place, because loops that handle all booths hold it. */
  const booths: Booth[] = [];
  const open = new Map<BoothId, OpenBooth>();
  const links = createLinks(gateway, parts);
  const opened = async (setups: readonly BoothSetup[]): Promise<readonly Booth[]> => {
    const all: Booth[] = [];
    try {
      // Opens one booth at a time. With many booths on a busy machine this takes seconds, so each step checks whether the agent is
      // stopping.
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
    const id = booth.state.booth;
    const writer = parts.beginWriter({ [`committer of ${id}`]: (signal) => booth.log.committer.run(signal) });
    const part = parts.begin({
      [`provisioning of ${id}`]: (signal) => provisionLoop(booth, signal),
      [`reported fields of ${id}`]: (signal) => reportLoop(booth, signal),
      [`parameters of ${id}`]: (signal) => followService(booth, signal),
      [`configuration trial of ${id}`]: (signal) => configLoop(booth, signal),
      [`reconciliation of ${id}`]: (signal) => reconcileLoop(booth, signal),
    });
    open.set(id, { booth, part, writer });
  };
  const remove = async (id: BoothId): Promise<void> => {
    const { booth, part, writer } = open.get(id) ?? {};
    open.delete(id);
    await part?.end();
    await writer?.end();
    booth?.leave();
  };
  const boothOf = ({ config }: BoothSetup): readonly Booth[] => {
    const booth = open.get(config.id)?.booth;
    return booth === undefined ? [] : [booth];
  };
  return {
    booths,
    links,
    /** Returns a booth by its id. Throws for an unknown id. */
    find: (id: BoothId): Booth => {
      const booth = open.get(id)?.booth;
      if (booth === undefined) throw new Error(`no booth ${id} is configured here: ${[...open.keys()].join(", ")}`);
      return booth;
    },
    /** Returns a signal that aborts when the booth ends. */
    signalOf: (id: BoothId): AbortSignal => open.get(id)?.part.signal ?? parts.signal,
    /**
     * Opens, restarts and closes booths until exactly the booths of `setups` run. Booths and links with an unchanged configuration
     * continue. If a new booth cannot be opened, rejects and changes nothing.
     */
    async become(setups: readonly BoothSetup[]): Promise<void> {
      const known = new Set(open.keys());
      for (const booth of await opened(setups.filter(({ config }) => !known.has(config.id)))) add(booth);
      const begin = await links.ended(setups);
      const here = setups.flatMap(boothOf);
      const left = booths.filter((booth) => !here.includes(booth));
      // Replaces the list in one step, so that no loop sees a partial change.
      booths.splice(0, booths.length, ...here);
      await Promise.all(left.map(({ state }) => remove(state.booth)));
      for (const setup of begin) {
        for (const booth of boothOf(setup)) {
          if (known.has(setup.config.id)) booth.readBy(setup);
          // Does not await the write, so that a disk error does not delay the polls.
          void preseed(booth).catch(parts.failed);
        }
      }
      await links.begun(begin, boothOf);
      gateway.news.raise();
    },
  };
}

/** Manages the physical links. If the configuration of any booth on a link changes, the link restarts for all its booths. */
function createLinks(gateway: Gateway, parts: Parts) {
  const links = new Map<string, OpenLink>();
  const shared = createSharedLinks(gateway.clock);
  return {
    /** Access for tools, which read PLCs through these links. */
    shared,
    status: (): readonly SharedConnectionStatus[] =>
      [...links.values()].flatMap(({ connections }) => connections.map((one) => one.status())),
    /** Ends the links that differ from the setups. Returns the setups whose links must be started. */
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
    async begun(setups: readonly BoothSetup[], boothOf: (setup: BoothSetup) => readonly Booth[]): Promise<void> {
      const wanted = [...Map.groupBy(setups, linkOf)];
      const groups = setups.map(({ parameters }) => parameters.groups);
      const begins = linkBegins(wanted.length, groups);
      for (const [index, [link, together]] of wanted.entries()) {
        const booths = together.flatMap(boothOf);
        const polled = { link, booths, begins_in: begins[index] ?? 0, shared: shared.begun(link, booths) };
        const connections = await sharedConnections(gateway, booths, shared.askPlc);
        const part = parts.begin({
          [`polls of ${link}`]: (signal) => pollLoop(gateway, polled, signal),
          ...Object.fromEntries(
            connections.map((one) => [
              `shared connection of ${one.status().booth}`,
              (signal: AbortSignal) => one.run(signal),
            ]),
          ),
        });
        links.set(link, { setups: together, part, connections });
      }
    },
  };
}

function areSame(before: readonly BoothSetup[], wanted: readonly BoothSetup[]): boolean {
  const byId = (setups: readonly BoothSetup[]) =>
    new Map(setups.map(({ config, profile }) => [config.id, [config, profile]]));
  return before.length === wanted.length && isDeepStrictEqual(byId(before), byId(wanted));
}

/** Opens the ports through which other clients read the PLCs of these booths. The code is loaded only if such a port is configured. */
async function sharedConnections({ clock, log }: Gateway, booths: readonly Booth[], ask: SharedConnection["ask"]) {
  const wanted = booths.flatMap(({ setup: { config, polled, link }, state: { booth } }) => {
    const share = config.modbus?.share;
    return share === undefined || polled === undefined || link === undefined ? [] : [{ booth, share, polled, link }];
  });
  if (wanted.length === 0) return [];
  const { openSharedConnection } = await import("../acquisition/modbus/shared-connection.ts");
  return wanted.map((one) => openSharedConnection({ ...one, ask, clock, log }));
}

/** Enters the serial number of the configuration if the booth has no binding yet. It counts as confirmed by the operator. */
async function preseed(booth: Booth): Promise<void> {
  const { serial } = booth.setup.config;
  if (serial === undefined || booth.binding.row.state !== "unprovisioned") return;
  const confirmed = { by: "configuration", note: "serial number preseeded" };
  await applyEvent(booth, { kind: "serial_entered", serial, confirmed });
}

/** Logs the parameters whenever the service's record changes, and an event if the record violates the contract. */
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
