import Fastify from "fastify";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Service } from "../http/operation.ts";
import { outbox } from "../accounts/mail.ts";
import type { RunningBroker } from "../mqtt/deliver.ts";
import { storeCommand } from "../ingest/commands.ts";
import { bumpGeneration, revokeKeys } from "./actions.ts";
import type { FaultPlan } from "../faults/faults.ts";
import { oracle } from "./oracle.ts";

const serialShape = z.object({ serial: z.string() });
const revokeShape = z.object({ key: z.string().optional(), gateway_id: z.string().optional() });
const commandShape = z.object({
  gateway_id: z.string(),
  type: z.enum(["backfill", "digest", "config_changed", "rotate_key", "reassign", "release"]),
  args: z.unknown(),
  expires_in_ms: z.number().positive().default(3_600_000),
});

interface AdminParts {
  readonly service: Service;
  readonly faults: FaultPlan;
  readonly broker: Pick<RunningBroker, "send" | "disconnect">;
}

/**
 * Builds the server for tests, which needs no key: GET /oracle, GET /outbox (mails since the start), POST /fault
 * (DELETE clears), POST /generation {serial}, POST /keys/revoke {key | gateway_id}, POST /command {gateway_id, type,
 * args}. A bad body gets 400.
 */
export function buildAdmin({ service, faults, broker }: AdminParts): FastifyInstance {
  const app = Fastify({ forceCloseConnections: true });
  app.setErrorHandler<Error>((error, _, reply) =>
    reply.code(error instanceof z.ZodError ? 400 : 500).send({ error: error.message }),
  );
  app.get("/oracle", () => ({ streams: oracle(service.db) }));
  app.get("/outbox", () => ({ mails: outbox(service.db) }));
  app.post("/fault", (request, reply) => {
    faults.add(request.body);
    return reply.code(204).send();
  });
  app.delete("/fault", (_, reply) => {
    faults.clear();
    return reply.code(204).send();
  });
  app.post("/generation", (request, reply) => {
    const { serial } = serialShape.parse(request.body);
    const done = bumpGeneration(service.db, serial, service.now());
    return reply.code(done ? 204 : 404).send(done ? undefined : { error: "no such provisioned booth" });
  });
  app.post("/keys/revoke", (request, reply) => {
    const gateways = revokeKeys(service.db, revokeShape.parse(request.body), service.now());
    for (const gateway of gateways) broker.disconnect(gateway);
    return reply.code(204).send();
  });
  app.post("/command", (request) => {
    const { expires_in_ms, ...command } = commandShape.parse(request.body);
    const stored = storeCommand(service.db, { ...command, expires_at: service.now() + expires_in_ms }, service.now());
    broker.send(command.gateway_id, "cmd", stored);
    return stored;
  });
  return app;
}
