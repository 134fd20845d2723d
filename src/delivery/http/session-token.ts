import { jsonOf } from "../../domain/json.ts";
import { sessionTokenShape } from "../../contract/provisioning.ts";
import type { HttpAnswer, HttpClient } from "./client.ts";

const PATH = "/api/authenticate";
/** Maximum number of stored tokens. At most three keys are in use at once: the first key, the gateway's own key and the next key. */
const MAX_SESSIONS = 8;

/** The result of signing in: a token, or the answer with which the request fails. */
type SignedIn = { readonly token: string } | { readonly answer: HttpAnswer };

/**
 * Returns a client for services that expect a session token instead of the bare key. The client signs in with the key, once for all
 * requests, and sends `Bearer <token>`. After a 401 it signs in once more. If the service refuses the key, the client returns that 401. It
 * rejects, like after a network failure, if the service returns neither a token nor an error.
 */
export function withSessionTokens(http: HttpClient): HttpClient {
  const sessions = new Map<string, Promise<SignedIn>>();
  const forget = (key: string, session: Promise<SignedIn>): void => {
    if (sessions.get(key) === session) sessions.delete(key);
  };
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
      // Retries with a new token if a known token is refused, because it may have expired. If a new token is refused, the key is wrong.
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
