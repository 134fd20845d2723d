import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { drifted } from "./faults/drift.ts";
import type { FaultPlan } from "./faults/faults.ts";
import { type Caller, isAllowed } from "./accounts/keys.ts";
import { openApi } from "./resources/openapi.ts";
import { isOwnersPage, serveOwner } from "./owner/serve.ts";
import { badRequest, HttpError } from "./base/errors.ts";
import { hashingQueue } from "./http/hashing.ts";
import { LIMITS, readJson } from "./http/limits.ts";
import type { Answer, Call, Operation, Service } from "./http/operation.ts";
import { strike } from "./http/strike.ts";
import type { Reports } from "./reports/reports.ts";

const NEEDS_KEY = "a valid Authorization header is needed";
/** Time in which requests that are under way may finish when the server stops. */
const FINISH_MS = 10_000;

interface HttpOptions {
  readonly service: Service;
  readonly operations: readonly Operation[];
  readonly reports: Reports;
  readonly faults: FaultPlan;
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly log?: ((line: string) => void) | undefined;
}

/** Builds the service's HTTP server, which doesn't listen yet. */
export function buildHttp({
  service,
  operations,
  reports,
  faults,
  trustedProxies = [],
  log,
}: HttpOptions): FastifyInstance {
  const callerOf = (request: FastifyRequest): Caller | undefined | Promise<Caller | undefined> =>
    reports.admit({ authorization: request.headers.authorization, address: request.ip }, service.now());
  const app = Fastify({
    ...LIMITS,
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    // A request on a connection that was open before is answered, and its connection is closed after it.
    return503OnClosing: false,
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    // A path that can't be decoded reaches no route: the same order, 401 first, then {error}.
    frameworkErrors: (error, request, reply) => {
      const answer: FastifyReply = reply;
      Promise.resolve()
        .then(() => callerOf(request))
        .then(
          (caller) => fail(answer, caller === undefined ? new HttpError(401, NEEDS_KEY) : badPath(error)),
          (reason: unknown) => fail(answer, reason instanceof HttpError ? reason : new HttpError(401, NEEDS_KEY)),
        );
    },
  });
  const callers = new WeakMap<FastifyRequest, Caller>();
  const perform = performer({ service, reports });
  acceptJson(app);
  app.addHook("onRequest", async (request, reply) => {
    void reply.header("date", new Date(service.now()).toUTCString());
    if (isOwnersPage(request)) return;
    const caller = await callerOf(request);
    if (caller === undefined) throw new HttpError(401, NEEDS_KEY);
    callers.set(request, caller);
  });
  finishBeforeClose(app);
  app.setNotFoundHandler((_, reply) => reply.code(404).send({ error: "no such path" }));
  app.setErrorHandler<FastifyError | HttpError>((error, _, reply) => {
    if (statusOf(error) >= 500) log?.(`request failed: ${error.stack ?? error.message}`);
    return fail(reply, error);
  });
  const callOf = (request: FastifyRequest, caller = callers.get(request)): Call => {
    if (caller === undefined) throw new HttpError(401, NEEDS_KEY);
    const { ip: address, body } = request;
    const params = texts(request.params);
    const query = texts(request.query);
    const headers = texts(request.headers);
    return { service, caller, now: service.now(), address, params, query, headers, body };
  };
  serveOwner(app, { operations, perform, call: callOf });
  app.get("/api/openapi.json", () => openApi(operations));
  addOperations(app, { operations, faults, perform, callOf });
  refuseOtherMethods(app, [...operations, { method: "GET", path: "/api/openapi.json" }]);
  return app;
}

interface OperationParts {
  readonly operations: readonly Operation[];
  readonly faults: FaultPlan;
  readonly perform: Perform;
  readonly callOf: (request: FastifyRequest) => Call;
}

/** Adds a route for each operation, with the planned faults before and after it. */
function addOperations(app: FastifyInstance, { operations, faults, perform, callOf }: OperationParts): void {
  for (const operation of operations) {
    const route = `${operation.method} ${operation.path}`;
    app.route({
      method: operation.method,
      url: operation.path,
      handler: async (request, reply) => {
        const before = faults.onRoute(route, "before");
        if (before !== undefined && (await strike(before, reply))) return reply;
        const call = callOf(request);
        mustBeAllowed(operation, call.caller);
        const answer = await perform(operation, call);
        const after = faults.onRoute(route, "after");
        if (after !== undefined && (await strike(after, reply, answer.body))) return reply;
        return reply
          .code(answer.status)
          .headers({ ...operation.headers, ...answer.headers })
          .send(after?.drift === undefined ? answer.body : drifted(answer.body, after.drift));
      },
    });
  }
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Answers 405 with the allowed methods for each path that has operations, but none of the request's method. */
function refuseOtherMethods(app: FastifyInstance, routes: readonly Pick<Operation, "method" | "path">[]): void {
  const byPath = Map.groupBy(routes, ({ path }) => path.replaceAll(/:\w+/g, ":"));
  for (const [, same] of byPath) {
    const [{ path } = { path: "" }] = same;
    const allowed: readonly string[] = same.map(({ method }) => method).sort();
    app.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url: path,
      handler: (request, reply) =>
        reply
          .code(405)
          .header("allow", allowed.join(", "))
          .send({ error: `${request.method} isn't allowed here, only ${allowed.join(", ")}` }),
    });
  }
}

/** Lets requests that are under way finish when the server closes, for a limited time. */
function finishBeforeClose(app: FastifyInstance): void {
  let isClosing = false;
  let late: NodeJS.Timeout | undefined;
  app.addHook("preClose", (done) => {
    isClosing = true;
    late = setTimeout(() => app.server.closeAllConnections(), FINISH_MS).unref();
    done();
  });
  app.addHook("onClose", (_, done) => {
    clearTimeout(late);
    done();
  });
  app.addHook("onSend", (_, reply) => {
    if (isClosing) void reply.header("connection", "close");
    return Promise.resolve();
  });
}

function mustBeAllowed({ scopes }: Operation, caller: Caller): void {
  if (scopes === undefined || isAllowed(caller, scopes)) return;
  const creator = scopes.includes(caller.scope) ? ", because the user who made it may not" : "";
  throw new HttpError(403, `a key of scope ${caller.scope} may not do this${creator}`);
}

export type Perform = (operation: Operation, call: Call) => Answer | Promise<Answer>;

/** Returns a function that carries out an operation in the thread for it. Texts with a NUL, which no text may have, get 400. */
function performer({ service, reports }: { service: Service; reports: Reports }): Perform {
  const hashing = hashingQueue();
  return (operation, call) => {
    if ([...Object.values(call.params), ...Object.values(call.query)].some((text) => text.includes("\0")))
      throw badRequest("a text has a NUL");
    const act = (): Answer | Promise<Answer> =>
      operation.is_report === true || reports.takes_all
        ? reports.answer(operation, call)
        : operation.handle({ ...call, service });
    return operation.hashes?.(call.body) === true ? hashing(call.address, act) : act();
  };
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

/** Returns the text fields. For a repeated field, returns the first value. */
function texts(input: unknown): Record<string, string> {
  if (typeof input !== "object" || input === null) return {};
  const entries = Object.entries(input).map(
    ([key, value]) => [key, (Array.isArray(value) ? value[0] : value) as unknown] as const,
  );
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function badPath(error: FastifyError): HttpError {
  return new HttpError(error.statusCode ?? 400, "the path can't be read");
}

function statusOf(error: FastifyError | HttpError): number {
  return error instanceof HttpError ? error.status : (error.statusCode ?? 500);
}

function fail(reply: FastifyReply, error: FastifyError | HttpError): FastifyReply {
  const status = statusOf(error);
  const { retry_after_s } = error instanceof HttpError ? error : { retry_after_s: undefined };
  if (retry_after_s !== undefined) void reply.header("retry-after", retry_after_s);
  const isOwn = error instanceof HttpError || status < 500;
  return reply.code(status).send({ error: isOwn ? error.message : "internal error" });
}
