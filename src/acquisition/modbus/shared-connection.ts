import { say } from "../../domain/sentences.ts";
import { createServer, type Server, type Socket } from "node:net";
import type { ShareConfig } from "../../config/port.ts";
import type { AgentControl } from "../../domain/agent-control.ts";
import { LinkError, type LinkErrorKind } from "../../domain/link-error.ts";
import { linkDown } from "../../domain/link-status.ts";
import type { Clock, Logger } from "../../domain/machine.ts";
import { isBitTable } from "../../domain/profile.ts";
import { isOver, onAbort } from "../../domain/signal.ts";
import type { SharedConnectionStatus } from "../../domain/status.ts";
import type { BoothId, Milliseconds } from "../../domain/units.ts";
import type { PolledWords } from "../port.ts";
import { EXCEPTION_BIT, expectedAnswer, MBAP_BYTES } from "./framing.ts";
import { TABLES } from "./tool-line.ts";

/**
 * A Modbus TCP server on the box, through which others read a PLC that allows one connection: from what the agent's polls read last, else by
 * a read between them. It writes nothing, whoever asks.
 */

export interface SharedConnection {
  readonly booth: BoothId;
  /** Of the PLC, as the agent's links are named. */
  readonly link: string;
  readonly share: ShareConfig;
  readonly polled: PolledWords;
  readonly ask: (link: string, ask: Parameters<AgentControl["askPlc"]>[1], patient: boolean) => Promise<Uint8Array>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Each holds a socket and its queue. */
const MAX_CLIENTS = 8;
/** Whoever says nothing for so long has gone, whatever TCP says. */
const IDLE_MS: Milliseconds = 120_000;
/** Requests of a client that wait for their turn; it is read no further until then. */
const MAX_QUEUED = 4;
/** Reads that go through to the PLC, each second, of all clients together: the booth's own polls are worth more. */
const MAX_PASSED_PER_S = 10;
const LISTEN_AGAIN_MS: Milliseconds = 30_000;
/** Length field of a request: unit and a PDU of 1 to 253 bytes. */
const LENGTHS = { min: 2, max: 254 };

/** Exceptions of the protocol (V1.1b3, 7). */
const EXCEPTION = { function: 1, address: 2, value: 3, busy: 6, path: 10, target: 11 } as const;
/** What they are told where the PLC couldn't be asked. */
const BY_KIND: Readonly<Partial<Record<LinkErrorKind, number>>> = {
  busy: EXCEPTION.busy,
  config: EXCEPTION.value,
  path: EXCEPTION.path,
};

type Counts = Omit<SharedConnectionStatus, "booth" | "address" | "port" | "link" | "clients">;

/** Serves until the signal. What can't listen now is tried again. */
export function openSharedConnection(connection: SharedConnection) {
  const { booth, share, clock, log } = connection;
  const counts: { -readonly [Key in keyof Counts]: Counts[Key] } = {
    ...{ from_polls: 0, passed: 0, refused_writes: 0, refused_clients: 0, busy: 0, failed: 0, last_age_ms: null },
  };
  const sockets = new Set<Socket>();
  let link: SharedConnectionStatus["link"] = linkDown(clock.wall(), say("shared.not_yet"));
  let { port } = share;
  const answer = answering(connection, counts);
  const listen = async (signal: AbortSignal): Promise<never> => {
    const server = createServer((socket) => {
      if (!mayConnect(share, socket) || sockets.size >= MAX_CLIENTS) {
        counts.refused_clients += 1;
        socket.resetAndDestroy();
        return;
      }
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      serve(socket, answer);
    });
    const failed = new Promise<never>((_, reject) => server.once("error", reject));
    const close = onAbort(signal, () => closeAll(server, sockets));
    try {
      await Promise.race([failed, new Promise<void>((resolve) => server.listen(share.port, share.address, resolve))]);
      const bound = server.address();
      if (typeof bound === "object" && bound !== null) port = bound.port;
      link = { kind: "up", since: clock.wall() };
      const text = `${booth}: others read its PLC at ${share.address}:${port.toString()}, between the agent's own polls`;
      log.info({ event: "shared_connection", booth, address: share.address, port }, text);
      return await failed;
    } finally {
      close();
      closeAll(server, sockets);
    }
  };
  return {
    status: (): SharedConnectionStatus => ({
      booth,
      address: share.address,
      port,
      link,
      clients: sockets.size,
      ...counts,
    }),
    async run(signal: AbortSignal): Promise<void> {
      while (!isOver(signal)) {
        const over = new Promise<void>((resolve) => void onAbort(signal, resolve));
        const reason = await Promise.race([over, listen(signal).catch((error: unknown) => error)]);
        if (isOver(signal)) return;
        const why = reason instanceof Error ? reason.message : String(reason);
        const advice = say("shared.check");
        const next_try_at = clock.wall() + LISTEN_AGAIN_MS;
        link = { ...linkDown(clock.wall(), why, advice), next_try_at };
        log.warn(
          { event: "shared_connection_down", booth, reason: why },
          `${booth}: its PLC can't be shared: ${why}; ${advice}`,
        );
        await clock.sleep(LISTEN_AGAIN_MS, signal).catch(() => undefined);
      }
    },
  };
}

function closeAll(server: Server, sockets: ReadonlySet<Socket>): void {
  server.close();
  for (const socket of sockets) socket.destroy();
}

/** On this machine's own address everybody here, else those who are named. */
function mayConnect({ address, clients }: ShareConfig, { remoteAddress = "" }: Socket): boolean {
  const from = remoteAddress.replace(/^::ffff:/, "");
  if (clients.length > 0) return clients.includes(from);
  return address === "::1" || address.startsWith("127.");
}

type Answer = (unit: number, pdu: Buffer) => Promise<Uint8Array>;

/** One request after the other; what is no Modbus TCP ends the connection. */
function serve(socket: Socket, answer: Answer): void {
  let inbox = Buffer.alloc(0);
  const queue: Buffer[] = [];
  let isAnswering = false;
  /** What came then is no Modbus: what was asked before is answered still. */
  let isBroken = false;
  const next = async (): Promise<void> => {
    isAnswering = true;
    for (let frame = queue.shift(); frame !== undefined; frame = queue.shift()) {
      const pdu = await answer(frame.readUInt8(MBAP_BYTES), frame.subarray(MBAP_BYTES + 1));
      const head = Buffer.from(frame.subarray(0, MBAP_BYTES + 1));
      head.writeUInt16BE(pdu.length + 1, MBAP_BYTES - 2);
      if (!socket.destroyed) socket.write(Buffer.concat([head, pdu]));
    }
    isAnswering = false;
    if (isBroken) socket.destroySoon();
    else socket.resume();
  };
  socket.setNoDelay(true);
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes) => {
    if (isBroken) return;
    inbox = Buffer.concat([inbox, bytes]);
    while (inbox.length >= MBAP_BYTES) {
      const length = inbox.readUInt16BE(MBAP_BYTES - 2);
      if (inbox.readUInt16BE(2) !== 0 || length < LENGTHS.min || length > LENGTHS.max || queue.length > MAX_QUEUED) {
        isBroken = true;
        break;
      }
      if (inbox.length < MBAP_BYTES + length) break;
      queue.push(inbox.subarray(0, MBAP_BYTES + length));
      inbox = inbox.subarray(MBAP_BYTES + length);
    }
    if (queue.length >= MAX_QUEUED || isBroken) socket.pause();
    if (!isAnswering) void next();
  });
}

function answering(
  { link, share, polled, ask, clock }: SharedConnection,
  counts: { -readonly [Key in keyof Counts]: Counts[Key] },
): Answer {
  const passes = passesBySecond(clock);
  return async (unit, pdu) => {
    const code = pdu.readUInt8(0);
    const table = TABLES[code];
    // As what is sent to a PLC is judged: unit, PDU and room for a CRC.
    const isRead = expectedAnswer(Buffer.concat([Buffer.of(unit), pdu, Buffer.alloc(2)]), 0) !== null;
    if (!isRead) {
      if (table !== undefined) return exception(code, EXCEPTION.value);
      counts.refused_writes += 1;
      return exception(code, EXCEPTION.function);
    }
    if (table !== undefined) {
      const range = { unit, table, address: pdu.readUInt16BE(1), count: pdu.readUInt16BE(3) };
      if (range.address + range.count > 65_536) return exception(code, EXCEPTION.address);
      const known = polled.words(range, share.max_age_ms);
      if (known !== null) {
        counts.from_polls += 1;
        counts.last_age_ms = known.age_ms;
        return pduOf(code, isBitTable(table) ? bitsOf(known.words) : registersOf(known.words));
      }
    }
    if (!passes()) {
      counts.busy += 1;
      return exception(code, EXCEPTION.busy);
    }
    try {
      const answer = await ask(link, { unit, pdu }, false);
      counts.passed += 1;
      return answer;
    } catch (error) {
      const kind = error instanceof LinkError ? error.kind : "closed";
      if (kind === "busy") counts.busy += 1;
      else counts.failed += 1;
      return exception(code, BY_KIND[kind] ?? EXCEPTION.target);
    }
  };
}

/** Whether one more read may go through in this second. */
function passesBySecond(clock: Clock): () => boolean {
  let second = 0;
  let passed = 0;
  return () => {
    const now = Math.floor(clock.mono() / 1_000);
    if (now !== second) [second, passed] = [now, 0];
    passed += 1;
    return passed <= MAX_PASSED_PER_S;
  };
}

function exception(code: number, which: number): Uint8Array {
  return Uint8Array.of(code | EXCEPTION_BIT, which);
}

function pduOf(code: number, data: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(code, data.length), data]);
}

function registersOf(words: readonly number[]): Uint8Array {
  const data = Buffer.alloc(words.length * 2);
  for (const [index, word] of words.entries()) data.writeUInt16BE(word, index * 2);
  return data;
}

function bitsOf(bits: readonly number[]): Uint8Array {
  const data = Buffer.alloc(Math.ceil(bits.length / 8));
  for (const [index, bit] of bits.entries()) {
    if (bit !== 0) data.writeUInt8(data.readUInt8(index >> 3) | (1 << (index & 7)), index >> 3);
  }
  return data;
}
