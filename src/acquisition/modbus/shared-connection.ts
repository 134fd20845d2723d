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
import { monotonicMs } from "../../monotonic.ts";
import { errorMessage } from "../../domain/error-message.ts";

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
/** Whoever asks nothing whole for so long, or doesn't take its answers, has gone, whatever TCP says. */
const IDLE_MS: Milliseconds = 120_000;
/** Where all places are taken, whoever has asked nothing for so long gives way: a panel that was switched off leaves its place behind. */
const GIVES_WAY_MS: Milliseconds = 10_000;
/** A client may ask as fast as it likes: after so many answers it waits, and with it what it has sent, so that no poll does. */
const IN_A_ROW = 4;
const REST_MS: Milliseconds = 20;
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
    from_polls: 0,
    passed: 0,
    refused_writes: 0,
    refused_clients: 0,
    busy: 0,
    failed: 0,
    last_age_ms: null,
  };
  const clients = new Set<Client>();
  let link: SharedConnectionStatus["link"] = linkDown(clock.wall(), say("shared.not_yet"));
  let { port } = share;
  const answer = answering(connection, counts);
  const listen = async (signal: AbortSignal): Promise<never> => {
    const server = createServer((socket) => {
      if (!mayConnect(share, socket) || !hasPlace(clients)) {
        counts.refused_clients += 1;
        socket.resetAndDestroy();
        return;
      }
      const client = serve(socket, answer);
      clients.add(client);
      socket.on("close", () => clients.delete(client));
    });
    const failed = new Promise<never>((_, reject) => server.once("error", reject));
    const close = onAbort(signal, () => closeAll(server, clients));
    try {
      await Promise.race([failed, new Promise<void>((resolve) => server.listen(share.port, share.address, resolve))]);
      const bound = server.address();
      if (typeof bound === "object" && bound !== null) port = bound.port;
      link = { kind: "up", since: clock.wall() };
      const text = `${booth}: others read its PLC at ${share.address}:${port}, between the agent's own polls`;
      log.info({ event: "shared_connection", booth, address: share.address, port }, text);
      return await failed;
    } finally {
      close();
      closeAll(server, clients);
    }
  };
  return {
    status: (): SharedConnectionStatus => ({
      booth,
      address: share.address,
      port,
      link,
      clients: clients.size,
      ...counts,
    }),
    async run(signal: AbortSignal): Promise<void> {
      while (!isOver(signal)) {
        const over = new Promise<void>((resolve) => void onAbort(signal, resolve));
        const reason = await Promise.race([over, listen(signal).catch((error: unknown) => error)]);
        if (isOver(signal)) return;
        const why = errorMessage(reason);
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

function closeAll(server: Server, clients: ReadonlySet<Client>): void {
  server.close();
  for (const { socket } of clients) socket.destroy();
}

/** Makes room where somebody has asked nothing for long. */
function hasPlace(clients: ReadonlySet<Client>): boolean {
  if (clients.size < MAX_CLIENTS) return true;
  const [quietest] = [...clients].toSorted((one, other) => one.asked_at - other.asked_at);
  if (quietest === undefined || monotonicMs() - quietest.asked_at < GIVES_WAY_MS) return false;
  quietest.socket.destroy();
  return true;
}

/** On this machine's own address everybody here, else those who are named. */
function mayConnect({ address, clients }: ShareConfig, { remoteAddress = "" }: Socket): boolean {
  const from = remoteAddress.replace(/^::ffff:/, "");
  if (clients.length > 0) return clients.includes(from);
  return address === "::1" || address.startsWith("127.");
}

type Answer = (unit: number, pdu: Buffer) => Promise<Uint8Array>;

interface Client {
  readonly socket: Socket;
  /** Its last whole request, or its connection. */
  asked_at: Milliseconds;
}

/**
 * One request after the other; what is no Modbus TCP ends the connection. While one is answered nothing is read, and no answer is made
 * before the one before it could be written: what a client sends, or doesn't take, costs one piece of its bytes in memory.
 */
function serve(socket: Socket, answer: Answer): Client {
  const client: Client = { socket, asked_at: monotonicMs() };
  // By the machine's own timers: clients live in real time, whatever clock the box has.
  const idle = setTimeout(() => socket.destroy(), IDLE_MS).unref();
  let inbox = Buffer.alloc(0);
  let answered = 0;
  const answerAll = async (): Promise<void> => {
    socket.pause();
    let next = nextFrame(inbox);
    for (; next.kind === "frame" && !socket.destroyed; next = nextFrame(inbox)) {
      const { frame } = next;
      inbox = inbox.subarray(frame.length);
      const pdu = await answer(frame.readUInt8(MBAP_BYTES), frame.subarray(MBAP_BYTES + 1));
      await written(socket, answerFrame(frame, pdu));
      client.asked_at = monotonicMs();
      idle.refresh();
      answered += 1;
      if (answered % IN_A_ROW === 0) await rest();
    }
    if (next.kind === "broken") socket.destroySoon();
    else socket.resume();
  };
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("close", () => clearTimeout(idle));
  socket.on("data", (bytes) => {
    inbox = Buffer.concat([inbox, bytes]);
    void answerAll();
  });
  return client;
}

type Next = { readonly kind: "frame"; readonly frame: Buffer } | { readonly kind: "partial" | "broken" };

/** What stands first in the bytes. */
function nextFrame(inbox: Buffer): Next {
  if (inbox.length < MBAP_BYTES) return { kind: "partial" };
  const length = inbox.readUInt16BE(MBAP_BYTES - 2);
  if (inbox.readUInt16BE(2) !== 0 || length < LENGTHS.min || length > LENGTHS.max) return { kind: "broken" };
  const end = MBAP_BYTES + length;
  return inbox.length < end ? { kind: "partial" } : { kind: "frame", frame: inbox.subarray(0, end) };
}

function answerFrame(request: Buffer, pdu: Uint8Array): Buffer {
  const head = Buffer.from(request.subarray(0, MBAP_BYTES + 1));
  head.writeUInt16BE(pdu.length + 1, MBAP_BYTES - 2);
  return Buffer.concat([head, pdu]);
}

/** Resolves once more may be written, or the connection has gone. */
async function written(socket: Socket, bytes: Buffer): Promise<void> {
  if (socket.destroyed || socket.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const over = (): void => {
      socket.off("drain", over);
      socket.off("close", over);
      resolve();
    };
    socket.on("drain", over);
    socket.on("close", over);
  });
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, REST_MS));
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
