import type { EntryAnswer } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import type { BodyOf } from "../contract/local.ts";
import { labelledEntries } from "./filter-labels.ts";
import { say } from "../domain/sentences.ts";
import { boothOf, type Call, type LocalAnswer, needed, Refusal, type Services } from "./operation.ts";
import { errorMessage } from "../domain/error-message.ts";
import { MINUTE_MS } from "../domain/time.ts";

const CANT_REBUILD = "this agent can't rebuild";

/**
 * A technician's word that a filter was changed: 200 with the entry and what became of it, 409 with the reason, 202 where the store
 * can't commit at the moment: ask again with the same id.
 */
export async function filterChanged(
  call: Call<BodyOf<"filter_change">>,
  { control, filter_labels }: Services,
): Promise<LocalAnswer> {
  const { booth: named, id, filter, minutes_ago, by, part_number, note } = call.body();
  const ago_ms = Math.round(minutes_ago * MINUTE_MS);
  const { booth, time } = boothOf(control, named);
  const answer = await control.changeFilter(booth, { id, filter, ago_ms, by });
  if (answer.kind !== "refused" && (part_number !== "" || note !== "")) {
    const installed_at = answer.kind === "done" ? answer.entry.installed_at : time - ago_ms;
    const labels = needed(filter_labels, "this agent keeps no part numbers and notes");
    await labels.keep(booth, { id, filter, installed_at, by, part_number, note });
  }
  return entryAnswer(answer);
}

/** What people entered of the filters that went in, oldest first. */
export async function filterEntries({ query }: Call, { control, filter_labels }: Services): Promise<LocalAnswer> {
  const booth = boothOf(control, query["booth"]);
  const labels = (await filter_labels?.of(booth.booth)) ?? [];
  return { status: 200, body: { data: labelledEntries(booth, labels) } };
}

/** Its withdrawal; answers as the change does. */
export async function filterUndone(call: Call<BodyOf<"filter_undo">>, { control }: Services): Promise<LocalAnswer> {
  const { booth, id, by } = call.body();
  return entryAnswer(await control.undoFilter(boothOf(control, booth).booth, { id, by }));
}

function entryAnswer(answer: EntryAnswer): LocalAnswer {
  switch (answer.kind) {
    case "done":
      return { status: 200, body: answer.entry };
    case "refused":
      throw new Refusal(409, answer.reason);
    case "waiting":
      return { status: 202, body: { reason: "taken; the store can't commit it at the moment" } };
  }
}

/** The configuration's file as it is now: 200 with what it has brought, 409 with what is wrong in it. */
export async function reload(_: Call, services: Services): Promise<LocalAnswer> {
  return { status: 200, body: await needed(services.reload, "this agent can't reload its configuration")() };
}

/** Begins a comparison of a day with the service: 202 with its id, or 409 with the reason. */
export function reconcile(call: Call<BodyOf<"reconcile">>, { control }: Services): LocalAnswer {
  const { booth: named, day = null } = call.body();
  const { booth } = boothOf(control, named);
  try {
    return { status: 202, body: known(control.reconciliation(booth, control.reconcile(booth, day))) };
  } catch (error) {
    if (error instanceof RangeError) throw new Refusal(409, error.message);
    throw error;
  }
}

/** How the comparison of this id stands, without one how the last one does. */
export function reconciliation({ query }: Call, { control }: Services): LocalAnswer {
  const { booth, reconciliation: last } = boothOf(control, query["booth"]);
  const id = query["id"];
  return {
    status: 200,
    body: id === undefined ? (last ?? { kind: "none" }) : known(control.reconciliation(booth, id)),
  };
}

function known(asked: BoothStatus["reconciliation"]): object {
  if (asked === null) throw new Refusal(404, "no such comparison is known, or no longer: begin another");
  return asked;
}

/** 202, or 409 with the reason. */
export async function rebuild(call: Call<BodyOf<"rebuild">>, { control, rebuilds }: Services): Promise<LocalAnswer> {
  const thread = needed(rebuilds, CANT_REBUILD);
  const { booth, current } = call.body();
  const { stream } = boothOf(control, booth).log;
  try {
    return { status: 202, body: await thread.start(stream, current) };
  } catch (error) {
    throw new Refusal(409, errorMessage(error));
  }
}

/** How the last one stands. */
export async function rebuildProgress({ query }: Call, { control, rebuilds }: Services): Promise<LocalAnswer> {
  const thread = needed(rebuilds, CANT_REBUILD);
  const { stream } = boothOf(control, query["booth"]).log;
  return { status: 200, body: (await thread.progress(stream)) ?? { kind: "none" } };
}

/** By the one named, or by each; with what the server said. */
export async function testNotices(call: Call<BodyOf<"notice_test">>, { control }: Services): Promise<LocalAnswer> {
  const { name } = call.body();
  const known = control.status().notices.filter(({ where }) => where !== "");
  if (known.length === 0) throw new Refusal(409, say("notice.none"));
  if (name !== undefined && !known.some((one) => one.name === name)) {
    throw new Refusal(404, say("notice.unknown", { name, names: known.map((one) => one.name).join(", ") }));
  }
  return { status: 200, body: { notices: await control.testNotices(name) } };
}
