import { randomBytes, randomUUID } from "node:crypto";
import type { ContractFiles } from "./contract-files.ts";
import { kitLog } from "./log.ts";
import { type Exchange, Mismatch, must } from "./requirement.ts";
import { startSession } from "./session.ts";
import {
  type Answer,
  type Asking,
  mustBeError,
  type PlayedGateway,
  type Session,
  shown,
  type Target,
  type TargetOptions,
} from "./target.ts";

function playedGateway(name: string): PlayedGateway {
  return {
    id: `kit-${name}-${randomUUID()}`,
    credential: randomBytes(32).toString("hex"),
    claim_id: randomUUID(),
    generation: 0,
    stream: randomUUID(),
  };
}

export function createTarget(options: TargetOptions, contract: ContractFiles): Target {
  const exchanges: Exchange[] = [];
  const sessions = new Map<string, Session>();
  const ask = async (request: string, { key, body, headers = {} }: Asking = {}): Promise<Answer> => {
    const [method = "GET", path = "/"] = request.split(" ");
    const sent = `${request}${body === undefined ? "" : `\n${shown(body)}`}`;
    const authorization = key ?? options.key;
    const response = await fetch(`${options.url}${path}`, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(options.timeout_ms),
      headers: {
        accept: "application/json",
        ...(authorization === "" ? {} : { authorization }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
      exchanges.push({ sent, received: `no answer: ${why}` });
      throw new Mismatch(`no answer to ${request} (${why})`, `an answer within ${options.timeout_ms} ms`);
    });
    const text = await response.text();
    exchanges.push({ sent, received: `${response.status} ${shown(text)}` });
    return { status: response.status, headers: response.headers, body: jsonOf(text) };
  };
  const target: Target = {
    options,
    contract,
    exchanges,
    gateway: playedGateway("a"),
    rival: playedGateway("b"),
    log: kitLog(),
    acked: new Set(),
    record: {},
    ask,
    async demand(request, statuses, more = {}) {
      const answer = await ask(request, more);
      must(statuses.includes(answer.status), `status ${answer.status}`, `status ${statuses.join(" or ")}`);
      const name = more.operation ?? request.replace(/\?.*/, "");
      if (answer.status < 300) {
        const fault = contract.answerFault(name, answer, false);
        must(fault === null, fault ?? "", `a body as in contract/openapi.yaml, ${name}`);
      } else mustBeError(answer);
      return answer;
    },
    async session(gateway = target.gateway) {
      const open = sessions.get(gateway.id);
      if (open?.isOpen() === true) return open;
      const session = await startSession(target, gateway);
      sessions.set(gateway.id, session);
      return session;
    },
    async cut() {
      for (const session of sessions.values()) await session.cut();
      sessions.clear();
    },
  };
  return target;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
