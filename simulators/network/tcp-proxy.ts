import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type FaultCounts, type Faults, noCounts, noFaults, seededSequence } from "./faults.ts";
import { pipe } from "./pipe.ts";

interface TcpProxyOptions {
  /** The server's address; the host defaults to 127.0.0.1. */
  readonly target: { readonly port: number; readonly host?: string };
  /** 0: any free port. */
  readonly port?: number;
  readonly seed?: number;
  readonly faults?: Partial<Faults>;
}

/** A TCP line with faults on 127.0.0.1. */
export interface TcpProxy {
  readonly port: number;
  /** A test may change the faults at any time. */
  readonly faults: Faults;
  readonly counts: Readonly<FaultCounts>;
  /** Number of accepted connections so far, and of the refused ones among them. */
  readonly connections: { accepted: number; refused: number };
  /** Resets every open connection. */
  cut(): void;
  close(): Promise<void>;
}

export async function tcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  const faults: Faults = { ...noFaults(), ...options.faults };
  const counts = noCounts();
  const spoiler = { faults, counts, random: seededSequence(options.seed ?? 1) };
  const connections = { accepted: 0, refused: 0 };
  const pairs = new Set<() => void>();
  const server = createServer((client) => {
    connections.accepted++;
    client.on("error", () => client.destroy());
    if (faults.refuse) {
      connections.refused++;
      client.resetAndDestroy();
      return;
    }
    const { port, host = "127.0.0.1" } = options.target;
    join(client, connect({ port, host, noDelay: true }), { spoiler, pairs });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", () => resolve());
  });
  const cut = (): void => {
    for (const end of [...pairs]) end();
  };
  return {
    port: (server.address() as AddressInfo).port,
    faults,
    counts,
    connections,
    cut,
    close: async () => {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

type Shared = Pick<Parameters<typeof pipe>[0], "spoiler"> & { readonly pairs: Set<() => void> };

/** Connects the two sockets of a connection. If one ends, the other is ended too. */
function join(client: Socket, server: Socket, { spoiler, pairs }: Shared): void {
  const over = new AbortController();
  const reset = (): void => {
    over.abort();
    pairs.delete(reset);
    for (const socket of [client, server]) if (!socket.destroyed) socket.resetAndDestroy();
  };
  pairs.add(reset);
  client.setNoDelay(true);
  const line = { spoiler, reset, over: over.signal };
  client.on("data", pipe({ ...line, way: "requests", from: client, to: server }));
  server.on("data", pipe({ ...line, way: "answers", from: server, to: client }));
  server.on("error", reset);
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    socket.on("close", () => {
      // A half-open connection can still be reset.
      if (other.destroyed) pairs.delete(reset);
      // On a silent line, a side doesn't get the other side's end either.
      if (spoiler.faults.silent) return;
      over.abort();
      other.end();
    });
  }
}
