import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A direction of a line. */
interface Way {
  readonly bytes_per_s: number;
  readonly delay_ms: number;
  /** Called with the bytes of each piece as it arrives. */
  readonly count: (bytes: number) => void;
}

/** A line as booths have it: what goes up is paced, and everything takes its time on the way, the end of a connection too. */
export interface SlowLine {
  readonly port: number;
  /** Bytes that went up so far. */
  readonly passed: () => number;
  close(): void;
}

/** Bytes that a packet on such a line carries. */
const PIECE_BYTES = 1_448;

/** Leads to that port of this machine. `delay_ms` is one way. */
export async function slowLine(
  port: number,
  { bytes_per_s, delay_ms }: { readonly bytes_per_s: number; readonly delay_ms: number },
): Promise<SlowLine> {
  let passed = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const service = connect({ port, host: "127.0.0.1", noDelay: true });
    for (const socket of [client, service]) sockets.add(socket.on("error", () => socket.destroy()));
    carry(client, service, { bytes_per_s, delay_ms, count: (bytes) => void (passed += bytes) });
    carry(service, client, { bytes_per_s: Infinity, delay_ms, count: () => undefined });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    passed: () => passed,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** All that `from` says comes to `to` in order, at the line's rate; its last words come before its end. */
function carry(from: Socket, to: Socket, way: Way): void {
  const arriving: { readonly at: number; readonly act: () => void }[] = [];
  const arrive = (): void => {
    while ((arriving[0]?.at ?? Infinity) <= performance.now()) arriving.shift()?.act();
    const next = arriving[0];
    // Whole milliseconds, and never before its time.
    if (next !== undefined) setTimeout(arrive, Math.max(1, Math.ceil(next.at - performance.now())));
  };
  let free_at = 0;
  const send = (bytes: number, act: () => void): void => {
    free_at = Math.max(free_at, performance.now()) + (bytes / way.bytes_per_s) * 1_000;
    arriving.push({ at: free_at + way.delay_ms, act });
    if (arriving.length === 1) arrive();
  };
  const sendPiece = (piece: Buffer): void => {
    send(piece.length, () => {
      way.count(piece.length);
      to.write(piece);
    });
  };
  from.on("data", (bytes) => {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) sendPiece(bytes.subarray(at, at + PIECE_BYTES));
  });
  from.on("close", () => send(0, () => void to.end()));
}
