import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { Fault } from "../faults/faults.ts";

/** Applies a fault. Returns false if it only delays the answer or changes the date, so that the request continues. */
export async function strike(fault: Fault, reply: FastifyReply, body?: unknown): Promise<boolean> {
  if (fault.delay_ms !== undefined) await sleep(fault.delay_ms);
  if (fault.date_skew_ms !== undefined) skewDate(reply, fault.date_skew_ms);
  if (fault.reset) {
    reply.hijack();
    reply.raw.destroy();
    return true;
  }
  if (fault.truncate) {
    cutInTheMiddle(reply, fault.status ?? 200, JSON.stringify(body ?? { error: "cut" }));
    return true;
  }
  if (fault.status === undefined) return false;
  if (fault.retry_after !== undefined) void reply.header("retry-after", fault.retry_after);
  await reply.code(fault.status).send({ error: "planned fault" });
  return true;
}

function skewDate(reply: FastifyReply, ms: number): void {
  void reply.header("date", new Date(Date.parse(String(reply.getHeader("date"))) + ms).toUTCString());
}

function cutInTheMiddle(reply: FastifyReply, status: number, text: string): void {
  reply.hijack();
  const head = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  reply.raw.writeHead(status, head);
  reply.raw.write(text.slice(0, text.length >> 1), () => reply.raw.destroy());
}
