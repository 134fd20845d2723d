import type { BodyOf } from "../contract/local.ts";
import { boothId } from "../config/gateway-schema.ts";
import { nearby } from "../tools/find-plc.ts";
import { type Call, type LocalAnswer, needed, Refusal, type Services } from "./operation.ts";
import { isKeyInForce, rootAlone } from "./provisioning.ts";
import { say } from "../domain/sentences.ts";

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

/** The set-up on the spot, the same for page and terminal. Each answers with how it stands then. */

async function answered(services: Services, status = 200): Promise<LocalAnswer> {
  return { status, body: { ...(await onSpot(services).status()), nearby: nearby() } };
}

function onSpot({ set_up }: Services) {
  return needed(set_up, "this agent can't be set up on the spot");
}

export function setUpStatus(_: Call, services: Services): Promise<LocalAnswer> {
  return answered(services);
}

export async function saveDraft(call: Call<BodyOf<"set_up_draft">>, services: Services): Promise<LocalAnswer> {
  await onSpot(services).saveDraft(call.body().draft);
  return answered(services);
}

export async function setService(call: Call<BodyOf<"set_up_service">>, services: Services): Promise<LocalAnswer> {
  const { url, api_key } = call.body();
  const { control } = services;
  const isInForce = control.status().booths.some(({ booth }) => isKeyInForce(control, booth));
  if (api_key !== undefined && isInForce && call.way !== "admin") {
    throw rootAlone("changing the key of a bound booth", "provision SERIAL --key-file FILE");
  }
  const before = (await onSpot(services).status()).service;
  const isElsewhere = url !== undefined && URL.canParse(url) && originOf(url) !== originOf(before.url);
  const isByRoot = call.way === "admin";
  // The address alone would send the keys that the gateway holds to another host.
  if (isElsewhere && before.has_key && api_key === undefined && !isByRoot) {
    throw new Refusal(403, say("ask.key_host", { url: before.url ?? "-" }));
  }
  if (api_key !== undefined) await control.giveKey(api_key, url);
  if (isElsewhere && isByRoot && api_key === undefined) await control.vouchFor(url);
  if (url !== undefined) {
    await onSpot(services)
      .setService(url)
      .catch(async (error: unknown) => {
        if (isElsewhere && isByRoot && before.url !== null) await control.vouchFor(before.url);
        throw error;
      });
  }
  return answered(services);
}

export async function giveLogin(call: Call<BodyOf<"set_up_login">>, services: Services): Promise<LocalAnswer> {
  await onSpot(services).giveLogin(call.body());
  return answered(services);
}

export async function tryBooth(call: Call<BodyOf<"set_up_booth">>, services: Services): Promise<LocalAnswer> {
  const { id: typed, ...entry } = call.body();
  const id = boothId.safeParse(typed);
  if (!id.success) throw new Refusal(400, say("ask.booth_name"));
  const given = Object.entries(entry).filter(([, value]) => value !== undefined);
  await onSpot(services).tryEntry({ id: id.data, ...Object.fromEntries(given) });
  return answered(services, 202);
}

export async function settle(call: Call<BodyOf<"set_up_settled">>, services: Services): Promise<LocalAnswer> {
  await (call.body().keep ? onSpot(services).keep() : onSpot(services).takeBack());
  return answered(services);
}
