import { message } from "../domain/message.ts";
import { boothId } from "../config/gateway-schema.ts";
import type { BodyOf } from "../contract/local.ts";
import { nearby } from "../tools/find-plc.ts";
import { type Call, type LocalAnswer, needed, ok, Refusal, type Services } from "./operation.ts";
import { rootForKey } from "./provisioning.ts";

/** Answers an operation of the set-up with the state after it. */
async function answer(services: Services, status = 200): Promise<LocalAnswer> {
  return ok({ ...(await setUpOf(services).status()), nearby: nearby() }, status);
}

function setUpOf({ set_up }: Services) {
  return needed(set_up, message("ask.lacks.set_up"));
}

export function setUpStatus(_: Call, services: Services): Promise<LocalAnswer> {
  return answer(services);
}

export async function saveDraft(call: Call<BodyOf<"set_up_draft">>, services: Services): Promise<LocalAnswer> {
  await setUpOf(services).saveDraft(call.body().draft);
  return answer(services);
}

export async function setService(call: Call<BodyOf<"set_up_service">>, services: Services): Promise<LocalAnswer> {
  const { url, api_key } = call.body();
  const { control } = services;
  const set_up = setUpOf(services);
  const isByRoot = call.channel === "admin";
  if (api_key !== undefined && !isByRoot) rootForKey(control);
  const before = (await set_up.status()).service;
  const isElsewhere = url !== undefined && URL.canParse(url) && originOf(url) !== originOf(before.url);
  // Rejects a new address without a new key: the gateway would send its present keys to another host.
  if (isElsewhere && before.has_key && api_key === undefined && !isByRoot) {
    throw new Refusal(403, message("ask.key_host", { url: before.url ?? "-" }));
  }
  if (api_key !== undefined) await control.giveKey(api_key, url);
  if (isElsewhere && isByRoot && api_key === undefined) await control.vouchFor(url);
  if (url !== undefined) {
    await set_up.setService(url).catch(async (error: unknown) => {
      if (isElsewhere && isByRoot && before.url !== null) await control.vouchFor(before.url);
      throw error;
    });
  }
  return answer(services);
}

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin;
}

export async function giveLogin(call: Call<BodyOf<"set_up_login">>, services: Services): Promise<LocalAnswer> {
  await setUpOf(services).giveLogin(call.body());
  return answer(services);
}

export async function tryBooth(call: Call<BodyOf<"set_up_booth">>, services: Services): Promise<LocalAnswer> {
  const { id: typed, ...entry } = call.body();
  const id = boothId.safeParse(typed);
  if (!id.success) throw new Refusal(400, message("ask.booth_name"));
  const given = Object.entries(entry).filter(([, value]) => value !== undefined);
  await setUpOf(services).tryEntry({ id: id.data, ...Object.fromEntries(given) });
  return answer(services, 202);
}

export async function settle(call: Call<BodyOf<"set_up_settled">>, services: Services): Promise<LocalAnswer> {
  const set_up = setUpOf(services);
  await (call.body().keep ? set_up.keep() : set_up.takeBack());
  return answer(services);
}
