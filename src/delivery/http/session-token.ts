import { jsonOf } from "../../domain/json.ts";
import { sessionTokenShape } from "../../contract/provisioning.ts";
import type { HttpAnswer, HttpClient } from "./client.ts";

const PATH = "/api/authenticate";
/** The first key, the gateway's own and the next one are all that are in use at once. */
const MAX_SESSIONS = 8;

/** What signing in came to: a token, or the answer that stands for the request's own. */
type SignedIn = { readonly token: string } | { readonly answer: HttpAnswer };

/**
 * For services that want a session token instead of the bare key: asks for one with the key, once for all requests, and sends
 * `Bearer <token>`. A 401 has it asked for anew, once; a key that is refused is answered as the request's own 401. Rejects, as
 * on network trouble, where the service gives no token and doesn't say why.
 */
export function withSessionTokens(http: HttpClient): HttpClient {
  const sessions = new Map<string, Promise<SignedIn>>();
  const sessionOf = (key: string): Promise<SignedIn> => {
    const known = sessions.get(key);
    if (known !== undefined) return known;
    const fresh = signIn(http, key);
    const [oldest] = sessions.keys();
    if (oldest !== undefined && sessions.size >= MAX_SESSIONS) sessions.delete(oldest);
    sessions.set(key, fresh);
    const drop = (): void => forget(key, fresh);
    fresh.then((signed) => ("answer" in signed ? drop() : undefined), drop);
    return fresh;
  };
  const forget = (key: string, session: Promise<SignedIn>): void => {
    if (sessions.get(key) === session) sessions.delete(key);
  };
  const sendOnce: HttpClient["send"] = async (request) => {
    const session = sessionOf(request.key);
    const signed = await session;
    if ("answer" in signed) return signed.answer;
    const answer = await http.send({ ...request, key: `Bearer ${signed.token}` });
    if (answer.status === 401) forget(request.key, session);
    return answer;
  };
  return {
    async send(request) {
      const isKnown = sessions.has(request.key);
      const answer = await sendOnce(request);
      // A token ends by itself; where one that was given just now is refused, it is the key.
      return answer.status === 401 && isKnown ? sendOnce(request) : answer;
    },
    close: () => http.close(),
  };
}

async function signIn(http: HttpClient, key: string): Promise<SignedIn> {
  const answer = await http.send({ method: "POST", path: PATH, key, body: { api_key: key } });
  const { status } = answer;
  if (status === 401 || status === 403 || status === 429 || status >= 500) return { answer };
  const given = status < 300 ? sessionTokenShape.safeParse(jsonOf(answer.text)).data : undefined;
  if (given === undefined) throw new Error(`no session token is given (${PATH}: ${status}); see service.authorization`);
  return { token: given.session_token };
}
