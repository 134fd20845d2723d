import { message } from "../../domain/message.ts";
import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { ShareConfig } from "../../config/port.ts";
import type { AgentControl } from "../../domain/agent-control.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { LinkError, type LinkErrorKind } from "../../domain/link-error.ts";
import { linkDown } from "../../domain/link-status.ts";
import type { Clock, Logger } from "../../domain/machine.ts";
import { isBitTable } from "../../domain/profile.ts";
import { isOver, onAbort } from "../../domain/signal.ts";
import type { SharedConnectionStatus } from "../../domain/status.ts";
import type { BoothId, Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { PolledWords } from "../port.ts";
import { EXCEPTION_BIT, expectedAnswer, MBAP_BYTES, TABLES } from "./framing.ts";
import { answerFrame } from "./tool-line.ts";

/**
 * A Modbus TCP server through which other clients (panels, SCADA) read a PLC that allows only one connection. It answers from the words
 * that the agent's polls read last, if they are fresh enough. Otherwise the link loop reads between two polls, at most `MAX_PASSED_PER_S`
 * times per second. The server refuses every write. It listens until the signal aborts. If it can't listen (port in use), it retries every
 * 30 s, and `status` shows the reason. Clients, requests in memory and reads per second are bounded.
 */
export interface SharedConnection {
  readonly booth: BoothId;
  /** Name of the PLC's link in the agent. */
  readonly link: string;
  readonly share: ShareConfig;
  readonly polled: PolledWords;
  readonly ask: (link: string, ask: Parameters<AgentControl["askPlc"]>[1], patient: boolean) => Promise<Uint8Array>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Maximum number of clients. Each client holds a socket and a queue. */
const MAX_CLIENTS = 8;
/** Time after which a client is disconnected if it sends no complete request or doesn't read its answers. */
const IDLE_MS: Milliseconds = 120_000;
/** Idle time after which a client may be replaced at `MAX_CLIENTS`. A panel that was switched off leaves its connection open. */
const REPLACEABLE_MS: Milliseconds = 10_000;
/** Number of answers after which a client waits for `BURST_PAUSE_MS`, so that a fast client doesn't delay polls. */
const BURST_ANSWERS = 4;
const BURST_PAUSE_MS: Milliseconds = 20;
/** Maximum reads per second, of all clients together, that reach the PLC. The booth's own polls have priority. */
const MAX_PASSED_PER_S = 10;
const LISTEN_AGAIN_MS: Milliseconds = 30_000;
/** Valid values of a request's length field: unit id and a PDU of 1 to 253 bytes. */
const LENGTHS = { min: 2, max: 254 };

/** Exception codes (Modbus Application Protocol V1.1b3, 7). */
const EXCEPTION = { function: 1, address: 2, value: 3, busy: 6, path: 10, target: 11 } as const;
/** Exception code that a client gets if the PLC didn't answer its read, by the kind of error. */
const BY_KIND: Readonly<Partial<Record<LinkErrorKind, number>>> = {
  busy: EXCEPTION.busy,
  config: EXCEPTION.value,
  path: EXCEPTION.path,
};

type Counts = Omit<SharedConnectionStatus, "booth" | "address" | "port" | "link" | "clients">;
type CountsInPlace = { -readonly [Key in keyof Counts]: Counts[Key] };

/** Makes the server. `run` serves until the signal aborts. */
export function openSharedConnection(connection: SharedConnection) {
  const { booth, share, clock, log } = connection;
  const counts: CountsInPlace = {
    from_polls: 0,
    passed: 0,
    refused_writes: 0,
    refused_clients: 0,
    busy: 0,
    failed: 0,
    last_age_ms: null,
  };
  const clients = new Set<Client>();
  let link: SharedConnectionStatus["link"] = linkDown(clock.wall(), message("shared.not_yet"));
  let { port } = share;
  const answer = answering(connection, counts);
  const listen = async (signal: AbortSignal): Promise<never> => {
    const server = createServer((socket) => {
      if (!mayConnect(share, socket) || !makeRoom(clients)) {
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
        const aborted = new Promise<void>((resolve) => void onAbort(signal, resolve));
        const error = await Promise.race([aborted, listen(signal).catch((reason: unknown) => reason)]);
        if (isOver(signal)) return;
        const reason = errorText(error);
        const advice = message("shared.check");
        link = { ...linkDown(clock.wall(), reason, advice), next_try_at: clock.wall() + LISTEN_AGAIN_MS };
        const text = message("shared.log.down", { booth, reason, advice });
        log.warn({ event: "shared_connection_down", booth, reason }, text);
        await clock.sleep(LISTEN_AGAIN_MS, signal).catch(() => undefined);
      }
    },
  };
}

function closeAll(server: Server, clients: ReadonlySet<Client>): void {
  server.close();
  for (const { socket } of clients) socket.destroy();
}

/** Returns whether one more client may connect. If needed, closes the connection of the client that has been idle longest. */
function makeRoom(clients: ReadonlySet<Client>): boolean {
  if (clients.size < MAX_CLIENTS) return true;
  const [quietest] = [...clients].toSorted((one, other) => one.asked_at - other.asked_at);
  if (quietest === undefined || monotonicMs() - quietest.asked_at < REPLACEABLE_MS) return false;
  quietest.socket.destroy();
  return true;
}

/**
 * Returns whether a client may connect. Without a configured list, every client may connect if the server listens on a loopback address.
 */
function mayConnect({ address, clients }: ShareConfig, { remoteAddress = "" }: Socket): boolean {
  if (clients.length > 0) return clients.includes(remoteAddress.replace(/^::ffff:/, ""));
  return address === "::1" || address.startsWith("127.");
}

type Answer = (unit: number, pdu: Buffer) => Promise<Uint8Array>;

interface Client {
  readonly socket: Socket;
  /** monotonicMs() of the client's last complete request, or of its connection. */
  asked_at: Milliseconds;
}

/**
 * Serves one client, one request at a time. Bytes that are not Modbus TCP end the connection. The server reads no bytes while it answers a
 * request, and answers no request until the last answer is written. So a client needs memory for only one piece of its bytes.
 */
function serve(socket: Socket, answer: Answer): Client {
  const client: Client = { socket, asked_at: monotonicMs() };
  // Uses a real timer, because clients live in real time even if the agent's clock is simulated.
  const idle = setTimeout(() => socket.destroy(), IDLE_MS).unref();
  let inbox = Buffer.alloc(0);
  let answered = 0;
  const answerAll = async (): Promise<void> => {
    socket.pause();
    let frame = nextFrame(inbox);
    for (; Buffer.isBuffer(frame) && !socket.destroyed; frame = nextFrame(inbox)) {
      inbox = inbox.subarray(frame.length);
      const bytes = answerFrame(frame, await answer(frame.readUInt8(MBAP_BYTES), frame.subarray(MBAP_BYTES + 1)));
      await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      client.asked_at = monotonicMs();
      idle.refresh();
      answered += 1;
      if (answered % BURST_ANSWERS === 0) await delay(BURST_PAUSE_MS);
    }
    if (frame === "broken") socket.destroySoon();
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

function nextFrame(inbox: Buffer): Buffer | "partial" | "broken" {
  if (inbox.length < MBAP_BYTES) return "partial";
  const length = inbox.readUInt16BE(MBAP_BYTES - 2);
  if (inbox.readUInt16BE(2) !== 0 || length < LENGTHS.min || length > LENGTHS.max) return "broken";
  const end = MBAP_BYTES + length;
  return inbox.length < end ? "partial" : inbox.subarray(0, end);
}

function answering({ link, share, polled, ask, clock }: SharedConnection, counts: CountsInPlace): Answer {
  let second = 0;
  let passedInSecond = 0;
  const mayPass = (): boolean => {
    const now = Math.floor(clock.mono() / 1_000);
    if (now !== second) passedInSecond = 0;
    second = now;
    passedInSecond += 1;
    return passedInSecond <= MAX_PASSED_PER_S;
  };
  return async (unit, pdu) => {
    const code = pdu.readUInt8(0);
    const exception = (which: number): Uint8Array => Uint8Array.of(code | EXCEPTION_BIT, which);
    const table = TABLES[code];
    // Applies the same check as requests to a PLC.
    if (expectedAnswer(Uint8Array.of(unit, ...pdu)) === null) {
      if (table !== undefined) return exception(EXCEPTION.value);
      counts.refused_writes += 1;
      return exception(EXCEPTION.function);
    }
    if (table !== undefined) {
      const range = { unit, table, address: pdu.readUInt16BE(1), count: pdu.readUInt16BE(3) };
      if (range.address + range.count > 65_536) return exception(EXCEPTION.address);
      const known = polled.words(range, share.max_age_ms);
      if (known !== null) {
        counts.from_polls += 1;
        counts.last_age_ms = known.age_ms;
        const data = isBitTable(table) ? bitsOf(known.words) : known.words.flatMap((word) => [word >> 8, word & 0xff]);
        return Uint8Array.of(code, data.length, ...data);
      }
    }
    if (!mayPass()) {
      counts.busy += 1;
      return exception(EXCEPTION.busy);
    }
    try {
      const answer = await ask(link, { unit, pdu }, false);
      counts.passed += 1;
      return answer;
    } catch (error) {
      const kind = error instanceof LinkError ? error.kind : "closed";
      counts[kind === "busy" ? "busy" : "failed"] += 1;
      return exception(BY_KIND[kind] ?? EXCEPTION.target);
    }
  };
}

function bitsOf(bits: readonly number[]): readonly number[] {
  return Array.from({ length: Math.ceil(bits.length / 8) }, (_, byte) =>
    bits.slice(8 * byte, 8 * byte + 8).reduce((sum, bit, i) => sum | (bit << i), 0),
  );
}
