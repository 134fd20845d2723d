import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Connections of one address that send nothing, or only the start of a request. */
export interface Crowd {
  /** Returns how many the server has left open. */
  open(): number;
  close(): void;
}

/** Opens the connections one after the other. Half of them start a request and never end it. */
export async function crowdOf(
  port: number,
  { from, count }: { readonly from: string; readonly count: number },
): Promise<Crowd> {
  const sockets: Socket[] = [];
  for (let nth = 0; nth < count; nth += 1) {
    const socket = connect({ port, host: "127.0.0.1", localAddress: from });
    // A connection that the server ends is closed here too.
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
