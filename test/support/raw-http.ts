import { connect } from "node:net";

/** The answer to one raw request: the bytes that the server sent until it closed the connection. */
export interface RawAnswer {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Interim answers such as "100 Continue", which precede the final answer. */
const INTERIM = /^(?:HTTP\/1\.1 1\d\d [^\r]*\r\n(?:[^\r]+\r\n)*\r\n)+/;
/** A deadline that is longer than any answer takes on a busy machine. */
const ANSWER_MS = 60_000;

/** Sends raw bytes from one of the loopback addresses. Rejects if the server neither answers nor closes. */
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
    // A server may answer and close before it has read the whole request.
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
