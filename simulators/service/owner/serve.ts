import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { HttpError } from "../base/errors.ts";
import type { Caller } from "../accounts/keys.ts";
import type { Answer, Call, Operation } from "../http/operation.ts";

const PATH = "/owner/";
const FOLDER = new URL("./page/", import.meta.url);
const JS = "text/javascript; charset=utf-8";
const SCRIPTS = "main api dom format fleet strip views texts en es de";
/** File and type by path. No other file is ever served. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  [PATH]: ["index.html", "text/html; charset=utf-8"],
  [`${PATH}owner.css`]: ["owner.css", "text/css; charset=utf-8"],
  [`${PATH}icon.svg`]: ["icon.svg", "image/svg+xml"],
  ...Object.fromEntries(SCRIPTS.split(" ").map((name) => [`${PATH}${name}.js`, [`${name}.js`, JS] as const])),
};
const SESSION = `${PATH}session`;

/** Allows scripts, styles and data from this service only: no inline code, no frames, no forms to other sites. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-cache",
} as const;

/** Whether the request is for the page's files or its sign-in, which need no key. */
export function isOwnersPage({ url }: Pick<FastifyRequest, "url">): boolean {
  const [path = ""] = url.split("?");
  return path === "/" || path === "/owner" || path === SESSION || Object.hasOwn(FILES, path);
}

/** Functions of the server that the page's own requests need. */
interface OwnerParts {
  readonly operations: readonly Operation[];
  readonly perform: (operation: Operation, call: Call) => Answer | Promise<Answer>;
  readonly call: (request: FastifyRequest, caller: Caller) => Call;
}

/** The caller of a request without a key. It has no account. */
const NOBODY: Caller = { key_id: "", account_id: "", scope: "user", gateway_id: null };

/**
 * Serves the owner's page, which is read-only and gets all data from /api with the owner's key. Users with e-mail and
 * password sign in here, because /api requires a key even for that.
 */
export function serveOwner(app: FastifyInstance, { operations, perform, call }: OwnerParts): void {
  const signIn = operations.find(({ path }) => path === "/api/authenticate");
  for (const path of ["/", "/owner"]) app.get(path, (_, reply) => reply.redirect(PATH));
  for (const [path, [file, type]] of Object.entries(FILES)) {
    app.get(path, async (_, reply) =>
      reply
        .headers(HEADERS)
        .type(type)
        .send(await readFile(new URL(file, FOLDER))),
    );
  }
  app.post(SESSION, async (request, reply) => {
    const { body } = request;
    const isUser = typeof body === "object" && body !== null && "email" in body;
    if (signIn === undefined || !isUser) throw new HttpError(400, "e-mail and password are needed");
    const answer = await perform(signIn, call(request, NOBODY));
    return reply.headers(HEADERS).code(answer.status).send(answer.body);
  });
}
