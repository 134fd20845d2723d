import { message } from "../domain/message.ts";
import { errorText, MessageError } from "../domain/messages/message-error.ts";
import type { EntryAnswer, FilterLabel } from "../domain/entry.ts";
import type { BoothStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { BodyOf } from "../contract/local.ts";
import { labelledEntries } from "./filter-labels.ts";
import { boothOf, type Call, type LocalAnswer, needed, ok, Refusal, type Services } from "./operation.ts";
import { MINUTE_MS } from "../domain/time.ts";

const CANT_REBUILD = message("ask.lacks.rebuild");

/**
 * Enters a filter change. Returns 200 with the entry and its outcome, or 409 with the reason. Returns 202 if the store can't commit at the
 * moment; the sender then repeats the request with the same id.
 */
export async function filterChanged(call: Call<BodyOf<"filter_change">>, services: Services): Promise<LocalAnswer> {
  const { control } = services;
  const { booth: named, id, filter, minutes_ago, by, part_number, note } = call.body();
  const ago_ms = Math.round(minutes_ago * MINUTE_MS);
  const { booth, time } = boothOf(control, named);
  // The log must not contain the person's name, because a record can't be erased.
  const answer = await control.changeFilter(booth, { id, filter, ago_ms, by: "" });
  if (answer.kind !== "refused" && (part_number !== "" || note !== "" || by !== "")) {
    const installed_at = answer.kind === "done" ? answer.entry.installed_at : time - ago_ms;
    await label(services, booth, { id, filter, installed_at, by, part_number, note });
  }
  return entryAnswer(answer);
}

/** Keeps a label, and logs its text if it differs from the kept one. */
async function label({ control, filter_labels }: Services, booth: BoothId, wanted: FilterLabel): Promise<void> {
  const labels = needed(filter_labels, message("ask.lacks.filter_labels"));
  const before = (await labels.of(booth)).find(({ id }) => id === wanted.id);
  const { by: _by, ...text } = wanted;
  const { part_number = "", note = "" } = before ?? {};
  if (text.part_number !== part_number || text.note !== note) control.labelFilter(booth, text);
  await labels.keep(booth, wanted);
}

/** Corrects the text of an entered change. Returns the label, or 404 if the entry isn't known. */
export async function filterLabelled(call: Call<BodyOf<"filter_label">>, services: Services): Promise<LocalAnswer> {
  const { booth: named, id, ...text } = call.body();
  const booth = boothOf(services.control, named);
  const known = labelledEntries(booth, (await services.filter_labels?.of(booth.booth)) ?? []).find(
    (one) => one.id === id,
  );
  if (known === undefined) throw new Refusal(404, message("ask.no_entry"));
  const wanted = { ...known, ...text };
  await label(services, booth.booth, wanted);
  return ok(wanted);
}

/** Erases a person's name. Returns the number of filter changes that had it. */
export async function personForgotten(
  call: Call<BodyOf<"filter_forget">>,
  { control, filter_labels }: Services,
): Promise<LocalAnswer> {
  const { booth, by } = call.body();
  const labels = needed(filter_labels, message("ask.lacks.filter_labels"));
  return ok({ erased: await labels.forget(boothOf(control, booth).booth, by) });
}

/** Returns the filter changes that people entered, oldest first. */
export async function filterEntries({ query }: Call, { control, filter_labels }: Services): Promise<LocalAnswer> {
  const booth = boothOf(control, query["booth"]);
  const labels = (await filter_labels?.of(booth.booth)) ?? [];
  return ok({ data: labelledEntries(booth, labels) });
}

/** Withdraws an entry. Answers like `filterChanged`. */
export async function filterUndone(call: Call<BodyOf<"filter_undo">>, { control }: Services): Promise<LocalAnswer> {
  const { booth, id } = call.body();
  return entryAnswer(await control.undoFilter(boothOf(control, booth).booth, { id, by: "" }));
}

function entryAnswer(answer: EntryAnswer): LocalAnswer {
  switch (answer.kind) {
    case "done":
      return ok(answer.entry);
    case "refused":
      throw new Refusal(409, answer.reason);
    case "waiting":
      return ok({ reason: message("ask.store_busy") }, 202);
  }
}

/** Loads the configuration file. Returns 200 with the changes, or 409 with the errors. */
export async function reload(_: Call, services: Services): Promise<LocalAnswer> {
  return ok(await needed(services.reload, message("ask.lacks.reload"))());
}

/** Starts a comparison of a day's figures with the service. Returns 202 with the comparison's id, or 409 with the reason. */
export function reconcile(call: Call<BodyOf<"reconcile">>, { control }: Services): LocalAnswer {
  const { booth: named, day = null } = call.body();
  const { booth } = boothOf(control, named);
  try {
    return ok(known(control.reconciliation(booth, control.reconcile(booth, day))), 202);
  } catch (error) {
    if (error instanceof RangeError || error instanceof MessageError) throw new Refusal(409, errorText(error));
    throw error;
  }
}

/** Returns the progress of the comparison with the given id, or of the last one. */
export function reconciliation({ query }: Call, { control }: Services): LocalAnswer {
  const { booth, reconciliation: last } = boothOf(control, query["booth"]);
  const id = query["id"];
  return ok(id === undefined ? (last ?? { kind: "none" }) : known(control.reconciliation(booth, id)));
}

function known(asked: BoothStatus["reconciliation"]): object {
  if (asked === null) throw new Refusal(404, message("ask.no_comparison"));
  return asked;
}

/** Starts a rebuild of the derived data. Returns 202, or 409 with the reason. */
export async function rebuild(call: Call<BodyOf<"rebuild">>, { control, rebuilds }: Services): Promise<LocalAnswer> {
  const thread = needed(rebuilds, CANT_REBUILD);
  const { booth, current } = call.body();
  const { stream } = boothOf(control, booth).log;
  try {
    return ok(await thread.start(stream, current), 202);
  } catch (error) {
    throw new Refusal(409, errorText(error));
  }
}

/** Returns the progress of the last rebuild. */
export async function rebuildProgress({ query }: Call, { control, rebuilds }: Services): Promise<LocalAnswer> {
  const thread = needed(rebuilds, CANT_REBUILD);
  const { stream } = boothOf(control, query["booth"]).log;
  return ok((await thread.progress(stream)) ?? { kind: "none" });
}

/** Sends a test message by the named notice, or by each notice. Returns the replies of the servers. */
export async function testNotices(call: Call<BodyOf<"notice_test">>, { control }: Services): Promise<LocalAnswer> {
  const { name } = call.body();
  const known = control.status().notices.filter(({ where }) => where !== "");
  if (known.length === 0) throw new Refusal(409, message("notice.none"));
  if (name !== undefined && !known.some((one) => one.name === name)) {
    throw new Refusal(404, message("notice.unknown", { name, names: known.map((one) => one.name).join(", ") }));
  }
  return ok({ notices: await control.testNotices(name) });
}
