import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

/** A TCP relay on loopback that can inject faults. */
export interface TcpGate {
  readonly port: number;
  /** Returns the bytes that the clients have sent so far over all connections. */
  readonly sent: () => Buffer;
  /** Number of forwarded bytes from the server. */
  readonly received: () => number;
  readonly accepted: () => number;
  readonly open: () => number;
  /** hold: connections are accepted, but their bytes are held back in both directions. */
  mode: "pass" | "hold";
  /** Changes the server's bytes; null drops them. */
  alter: ((bytes: Buffer) => Buffer | null) | null;
  /** Forwards the held bytes. */
  release(): void;
  /** Ends every connection, with a close or a reset. */
  cut(how: "close" | "reset"): void;
  stop(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  readonly held: (() => void)[];
}

export async function tcpGate(target: number): Promise<TcpGate> {
  const pairs = new Set<Pair>();
  const sent: Buffer[] = [];
  let accepted = 0;
  let received = 0;
  const pass = (pair: Pair, act: () => void): void => {
    if (gate.mode === "hold") pair.held.push(act);
    else act();
  };
  const listener = createServer((client) => {
    accepted++;
    const server = connect(target, "127.0.0.1");
    const pair: Pair = { client, server, held: [] };
    pairs.add(pair);
    client.on("data", (bytes) => {
      sent.push(bytes);
      pass(pair, () => server.write(bytes));
    });
    server.on("data", (bytes) =>
      pass(pair, () => {
        const altered = gate.alter === null ? bytes : gate.alter(bytes);
        received += altered?.length ?? 0;
        if (altered !== null && !client.destroyed) client.write(altered);
      }),
    );
    const over = (): void => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", over).on("close", over);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const gate: TcpGate = {
    port: (listener.address() as AddressInfo).port,
    sent: () => Buffer.concat(sent),
    received: () => received,
    accepted: () => accepted,
    open: () => pairs.size,
    mode: "pass",
    alter: null,
    release: () => {
      gate.mode = "pass";
      for (const { held } of pairs) for (const act of held.splice(0)) act();
    },
    cut: (how) => {
      for (const { client } of pairs) {
        if (how === "reset") client.resetAndDestroy();
        else client.end();
      }
    },
    stop: async () => {
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      listener.close();
      await once(listener, "close");
    },
  };
  return gate;
}
