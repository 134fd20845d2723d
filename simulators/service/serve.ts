import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { drifted } from "./faults/drift.ts";
import type { FaultPlan } from "./faults/faults.ts";
import { type Caller, hashOf, isAllowed } from "./accounts/keys.ts";
import { openApi } from "./resources/openapi.ts";
import { isOwnersPage, serveOwner } from "./owner/serve.ts";
import { HttpError } from "./base/errors.ts";
import { countGuesses, KEY_GUESSES } from "./http/guesses.ts";
import { LIMITS, readJson } from "./http/limits.ts";
import type { Answer, Operation, Service } from "./http/operation.ts";
import { strike } from "./http/strike.ts";
import type { Reports } from "./reports/reports.ts";

/** Maximum number of cached valid keys and tokens, stored as hashes. */
const MAX_ACCEPTED = 10_000;

interface HttpOptions {
  readonly service: Service;
  readonly operations: readonly Operation[];
  readonly reports: Reports;
  readonly faults: FaultPlan;
  readonly log?: ((line: string) => void) | undefined;
}

/** Builds the service's HTTP server, which doesn't listen yet. */
export function buildHttp({ service, operations, reports, faults, log }: HttpOptions): FastifyInstance {
  const app = Fastify({
    ...LIMITS,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    // A path that can't be decoded reaches no route: the same order, 401 first, then {error}.
    frameworkErrors: (error, request, reply) => {
      const answer: FastifyReply = reply;
      const say = (isKnown: boolean): unknown =>
        answer
          .code(isKnown ? (error.statusCode ?? 400) : 401)
          .send({ error: isKnown ? "the path can't be read" : "a valid Authorization header is needed" });
      Promise.resolve(reports.callerOf(request.headers.authorization, service.now())).then(
        (caller) => say(caller !== undefined),
        () => say(false),
      );
    },
  });
  const guesses = countGuesses(KEY_GUESSES);
  const accepted = new Set<string>();
  const callers = new WeakMap<FastifyRequest, Caller>();
  acceptJson(app);
  app.addHook("onRequest", async (request, reply) => {
    void reply.header("date", new Date(service.now()).toUTCString());
    if (isOwnersPage(request)) return undefined;
    const { authorization = "" } = request.headers;
    // A key that was accepted earlier isn't blocked by wrong keys from the same address.
    if (!accepted.has(hashOf(authorization))) guesses.check(request.ip, performance.now());
    const caller = await reports.callerOf(authorization, service.now());
    if (caller === undefined) {
      if (authorization !== "") guesses.wrong(request.ip, performance.now());
      return reply.code(401).send({ error: "a valid Authorization header is needed" });
    }
    if (accepted.size >= MAX_ACCEPTED) accepted.clear();
    accepted.add(hashOf(authorization));
    callers.set(request, caller);
    return undefined;
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: "no such path" }));
  app.setErrorHandler<FastifyError | HttpError>((error, _, reply) => {
    const { status, text } = failureOf(error);
    if (status >= 500) log?.(`request failed: ${error.stack ?? error.message}`);
    return reply.code(status).send({ error: text });
  });
  serveOwner(app, service, operations);
  app.get("/api/openapi.json", () => openApi(operations));
  for (const operation of operations) {
    const route = `${operation.method} ${operation.path}`;
    app.route({
      method: operation.method,
      url: operation.path,
      handler: async (request, reply) => {
        const before = faults.onRoute(route, "before");
        if (before !== undefined && (await strike(before, reply))) return reply;
        const answer = await carryOut({ service, reports, operation }, { request, caller: callers.get(request) });
        const after = faults.onRoute(route, "after");
        if (after !== undefined && (await strike(after, reply, answer.body))) return reply;
        return reply
          .code(answer.status)
          .headers({ ...operation.headers, ...answer.headers })
          .send(after?.drift === undefined ? answer.body : drifted(answer.body, after.drift));
      },
    });
  }
  return app;
}

function acceptJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_, body, done) => {
    try {
      done(null, readJson(body));
    } catch (error) {
      done(error as HttpError, undefined);
    }
  });
}

function carryOut(
  { service, reports, operation }: { service: Service; reports: Reports; operation: Operation },
  from: { request: FastifyRequest; caller: Caller | undefined },
): Answer | Promise<Answer> {
  const { request, caller } = from;
  if (caller === undefined) throw new HttpError(401, "a valid Authorization header is needed");
  if (operation.scopes !== undefined && !isAllowed(caller, operation.scopes)) {
    const creator = operation.scopes.includes(caller.scope) ? ", because the user who made it may not" : "";
    throw new HttpError(403, `a key of scope ${caller.scope} may not do this${creator}`);
  }
  const params = texts(request.params);
  const query = texts(request.query);
  const headers = texts(request.headers);
  const call = { service, caller, now: service.now(), params, query, headers, body: request.body };
  return operation.is_report === true || reports.takes_all ? reports.answer(operation, call) : operation.handle(call);
}

/** Returns the text fields. For a repeated field, returns the first value. */
function texts(input: unknown): Record<string, string> {
  if (typeof input !== "object" || input === null) return {};
  const entries = Object.entries(input).map(
    ([key, value]) => [key, (Array.isArray(value) ? value[0] : value) as unknown] as const,
  );
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function failureOf(error: FastifyError | HttpError): { status: number; text: string } {
  if (error instanceof HttpError) return { status: error.status, text: error.message };
  const status = error.statusCode ?? 500;
  return { status, text: status < 500 ? error.message : "internal error" };
}
