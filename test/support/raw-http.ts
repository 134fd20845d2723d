import { connect } from "node:net";

/** Bytes of one request on a connection of its own, and what came back until the other side closed. */
export interface RawAnswer {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** "100 Continue" and its like come before the answer. */
const INTERIM = /^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n)+/;
/** Longer than any answer takes on a busy machine. */
const ANSWER_MS = 60_000;

/** Sends bytes as they are, from one of loopback's addresses; rejects where the server neither answers nor closes. */
export function sendRaw(port: number, bytes: Buffer, from = "127.0.0.1"): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: "127.0.0.1", localAddress: from });
    const give = (): void => {
      const text = Buffer.concat(chunks).toString("utf8").replace(INTERIM, "");
      const cut = text.indexOf("\r\n\r\n");
      const head = cut < 0 ? text : text.slice(0, cut);
      const body = cut < 0 ? "" : text.slice(cut + 4);
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: unchunked(head, body) });
    };
    socket.setTimeout(ANSWER_MS, () => socket.destroy(new Error("neither an answer nor an end")));
    socket.on("data", (chunk) => chunks.push(chunk));
    // A server that has answered may close while the rest of the request is still on its way.
    socket.on("error", (error: NodeJS.ErrnoException) =>
      ["ECONNRESET", "EPIPE"].includes(error.code ?? "") ? undefined : reject(error),
    );
    socket.on("close", give);
    socket.write(bytes);
  });
}

function unchunked(head: string, body: string): string {
  if (!/^transfer-encoding: chunked/im.test(head)) return body;
  return body.replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, "");
}
