import { createServer, request, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A request and its answer in wire format. */
export interface TappedExchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly answer: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string };
}

export interface HttpTap {
  readonly url: string;
  /** Exchanges with an answer, in the order of the answers. */
  readonly exchanges: readonly TappedExchange[];
}

/** Starts a proxy for an HTTP service that records the exchanges. The test's end closes it. */
export async function httpTap(target: string): Promise<HttpTap> {
  const exchanges: TappedExchange[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = "GET", url: path = "/", headers } = incoming;
    void textOf(incoming).then((body) => {
      const onward = request(new URL(path, target), { method, headers }, (answer) => {
        void textOf(answer).then((text) => {
          const status = answer.statusCode ?? 0;
          exchanges.push({ method, path, headers, body, answer: { status, headers: answer.headers, body: text } });
          outgoing.writeHead(status, answer.headers).end(text);
        });
      });
      onward.on("error", () => outgoing.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exchanges };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
