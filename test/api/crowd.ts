import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Connections of one address that say nothing, or no more than a beginning. */
export interface Crowd {
  /** How many the other side has left open. */
  open(): number;
  close(): void;
}

/** Opens them one after the other, each once the one before stands; half of them begin a request and never end it. */
export async function crowdOf(
  port: number,
  { from, count }: { readonly from: string; readonly count: number },
): Promise<Crowd> {
  const sockets: Socket[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from });
    // What the server ends ends here too.
    socket.on("error", () => undefined).resume();
    await once(socket, "connect");
    if (nth % 2 === 0) socket.write("GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    sockets.push(socket);
  }
  return {
    open: () => sockets.filter(({ closed }) => !closed).length,
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
