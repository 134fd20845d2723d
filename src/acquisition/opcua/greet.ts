import { connect } from "node:net";
import type { Milliseconds } from "../../domain/units.ts";
import { helloFrame, takeFrames, typeOf } from "./uacp.ts";

/** Whether an OPC UA server answers there: it takes a hello, or says in its own words why not. Never rejects. */
export function greetsOpcua(
  { host, port }: { readonly host: string; readonly port: number },
  within_ms: Milliseconds,
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, noDelay: true });
    let received = Buffer.alloc(0);
    const done = (answer: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => done(false), within_ms);
    socket.on("connect", () => socket.write(helloFrame(`opc.tcp://${host}:${port}`)));
    socket.on("error", () => done(false));
    socket.on("close", () => done(false));
    socket.on("data", (bytes) => {
      received = Buffer.concat([received, bytes]);
      const { frames, fault } = takeFrames(received);
      const [first] = frames;
      if (first !== undefined) done(typeOf(first) === "ACK" || typeOf(first) === "ERR");
      else if (fault !== null) done(false);
    });
  });
}
