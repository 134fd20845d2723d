import { localPageShape } from "../wire/local.ts";
import { jsonOf } from "./json-body.ts";
import { bad, type LocalAnswer, type LocalRequest } from "./routes.ts";
import type { Services } from "./services.ts";

/** GET /page tells where the page is; POST /page makes a PIN, opens it on the network, or closes it. Over the socket alone. */
export async function routePage({ method, body }: LocalRequest, { door }: Services): Promise<LocalAnswer> {
  if (door === undefined) return { status: 501, body: { error: "this agent serves no page" } };
  if (method === "GET") return { status: 200, body: door.state() };
  const parsed = localPageShape.safeParse(body === "" ? {} : jsonOf(body));
  if (method !== "POST" || !parsed.success) {
    return bad("POST {for_ms, lan} opens the page for one minute to twelve hours, {close: true} closes it");
  }
  const { close, ...how } = parsed.data;
  if (close) {
    door.close();
    return { status: 200, body: door.state() };
  }
  try {
    return { status: 200, body: await door.open(how) };
  } catch (error) {
    return { status: 409, body: { error: error instanceof Error ? error.message : String(error) } };
  }
}
