import { render } from "../domain/messages/render.ts";
import type { NoticeTest } from "../domain/notice.ts";
import type { RebuildProgress } from "../domain/rebuild.ts";
import type { Reconciliation } from "../domain/reconciliation.ts";
import { agentOf } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { barText, durationText, linesText } from "../tools/texts.ts";
import { followWork } from "./follow.ts";
import { textOption, lengthOption } from "../tools/options.ts";
import { print, tableText } from "../tools/print.ts";
import type { Reloaded } from "../config/differences.ts";
import type { PageState } from "../api/port.ts";

type Reconciled = Extract<Reconciliation, { kind: "done" }>;
type Rebuilt = Extract<RebuildProgress, { kind: "done" }>;

/** Runs `booth-gateway reconcile`: compares a day's figures with the service's, and sends missing records again. */
export const reconcileCommand: Run = async (call) => {
  const { values, io } = call;
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const begun = await agent.post<Reconciliation>("/reconcile", { booth, day: textOption(values, "day") });
  const now = await followWork(begun, io, {
    text: ({ day }) => `comparing ${day}`,
    again: ({ id }) => agent.get<Reconciliation>("/reconcile", { booth, id }),
  });
  if (now.kind === "failed") throw new CommandError(`${now.day} can't be compared now: ${render(now.reason)}`);
  print(call, now, reconciledText);
  return now.remaining_count === 0 ? EXIT.ok : EXIT.failed;
};

function reconciledText(done: Reconciled): string {
  const { day, compared, differed, hours, resent, remaining, remaining_count, algorithm } = done;
  const head = `${day}: ${compared} figures compared, ${differed} differed\n`;
  const sent = hours === 0 ? "" : `${resent} records of ${hours} hours sent again\n`;
  if (remaining_count === 0) return `${head}${sent}the same on both sides\n`;
  const why = algorithm
    ? "both sides hold the same records and make other figures of them: tell whoever runs the service\n"
    : "records differ still: run it again; what the service refuses stands in the backlog\n";
  const rows = remaining.map((one) => [one.figure, String(one.gateway ?? "-"), String(one.service ?? "-")]);
  const more = remaining_count - remaining.length;
  const rest = more === 0 ? "" : `and ${more} more\n`;
  return `${head}${sent}${tableText(["differs still", "here", "service"], rows)}${rest}${why}`;
}

/** Runs `booth-gateway rebuild`: derives all facts again from the log. */
export const rebuildCommand: Run = async (call) => {
  const { values, io } = call;
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const begun = await agent.post<RebuildProgress>("/rebuild", { booth, current: values["current"] === true });
  const now = await followWork(begun, io, {
    text: progressText,
    again: () => agent.get<RebuildProgress>("/rebuild", { booth }),
  });
  if (now.kind === "failed") throw new CommandError(`nothing was changed: ${render(now.reason)}`);
  print(call, now, rebuiltText);
  return EXIT.ok;
};

function progressText({ folded_seq, newest_seq, left_ms }: Extract<RebuildProgress, { kind: "running" }>): string {
  const left = left_ms === null ? "" : `, about ${durationText(left_ms)} left`;
  return `${barText(newest_seq === 0 ? 0 : folded_seq / newest_seq)}  ${folded_seq} of ${newest_seq} records${left}`;
}

function rebuiltText(done: Rebuilt): string {
  const { changes, from_versions, to_version } = done;
  const versions = from_versions.length === 0 ? "none" : from_versions.join(", ");
  const head = `${done.records} records from ${done.from_seq} on folded in ${durationText(done.elapsed_ms)}; definitions version ${versions} -> ${to_version}`;
  const isSame = changes.every(({ added, replaced, withdrawn }) => added + replaced + withdrawn === 0);
  if (isSame) return `${head}\nnothing changed\n`;
  const rows = changes.map((one) => [NAMES[one.kind] ?? one.kind, one.kept, one.added, one.replaced, one.withdrawn]);
  const table = tableText(["facts", "kept", "added", "replaced", "withdrawn"], rows);
  return `${head}\n${table}${linesText(done.examples.map((text) => `  ${text}`))}`;
}

const NAMES: Readonly<Record<string, string>> = {
  m: "stages",
  c: "cycles",
  d: "hours",
  v: "revisions",
  i: "incidents",
  f: "filters",
};

/**
 * The longest time that a reload may take. After a big change on a small box, the agent reads files, opens booths one by one and ends a
 * session.
 */
const RELOAD_MS = 120_000;

/** Runs `booth-gateway reload`: makes the agent read its configuration again. */
export const reloadCommand: Run = async (call) => {
  const agent = await agentOf(call);
  print(call, await agent.post<Reloaded>("/reload", {}, RELOAD_MS), reloadedText);
  return EXIT.ok;
};

function reloadedText({ booths, outputs, notices, agent, needs_restart }: Reloaded): string {
  const changes = (what: string, { added, changed, removed }: Reloaded["booths"]): readonly string[] => [
    ...added.map((name) => `${what} ${name}: added`),
    ...changed.map((name) => `${what} ${name}: begun anew`),
    ...removed.map((name) => `${what} ${name}: ended`),
  ];
  const lines = [
    ...changes("booth", booths),
    ...changes("output", outputs),
    ...changes("notice", notices),
    agent.length === 0 ? null : `the whole agent has begun anew within its process, for ${agent.join(", ")}`,
    needs_restart.length === 0 ? null : `in force after "systemctl restart booth-gateway": ${needs_restart.join(", ")}`,
  ];
  return linesText(lines.every((line) => line === null) ? ["the configuration is in force as it was"] : lines);
}

const LONGEST_H = 12;
/** The longest time for opening the page. The first time, the agent makes a key, which takes many seconds on a small processor. */
export const CERTIFICATE_MS = 120_000;

/** The agent's answer, with the PIN if the agent made a new PIN. */
type PageAnswer = PageState & { readonly pin?: string };

/** Runs `booth-gateway page`: opens the page for a technician's phone or laptop, or closes it. */
export const pageCommand: Run = async (call) => {
  const isClosing = call.values["close"] === true;
  const for_ms = isClosing ? undefined : lengthOption(call.values, "for", LONGEST_H);
  const opening = for_ms === undefined ? {} : { lan: true, for_ms };
  const agent = await agentOf(call);
  const body = isClosing ? { close: true } : opening;
  const codes = call.io.isTerminal ? await import("../tools/qr-code.ts") : null;
  const code = (text: string): string | null => codes?.qrText(text) ?? null;
  const state = await agent.post<PageAnswer>("/page", body, CERTIFICATE_MS);
  print(call, state, (answer) => pageText(answer, code));
  return EXIT.ok;
};

/** Describes the page's state. `code` returns the QR code of a text; null without a terminal to show it on. */
function pageText({ url, trouble, lan, pin, pin_for_ms }: PageAnswer, code: (text: string) => string | null): string {
  const here = `on this box  ${url ?? render(trouble)}`;
  if (pin === undefined) {
    const closed =
      lan === null ? "the page is closed on the network" : "the page stays open on the network (page.network)";
    return linesText([`${closed}, and every session has ended`, here]);
  }
  const [first] = lan?.urls ?? [];
  return linesText([
    first === undefined ? null : code(first),
    ...(lan?.urls ?? []).map((address) => `address      ${address}`),
    lan?.urls.length === 0 ? "address      none: the gateway has no network connection" : null,
    lan === null ? null : `fingerprint  ${lan.fingerprint}`,
    `PIN          ${pin}   (for ${durationText(Math.ceil((pin_for_ms ?? 0) / 1000) * 1000)})`,
    here,
  ]);
}

/** The longest time that a test may take. A mail server may take three minutes. */
const NOTICE_MS = 190_000;

/** Runs `booth-gateway notify test`: sends a test notice, and shows the server's answer. */
export const notifyCommand: Run = async (call) => {
  const [, name] = call.operands;
  const agent = await agentOf(call);
  const body = name === undefined ? {} : { name };
  const answer = await agent.post<{ readonly notices: readonly NoticeTest[] }>("/notices/test", body, NOTICE_MS);
  print(call, answer, ({ notices }) => linesText(notices.flatMap(testLines)));
  return answer.notices.every(({ outcome }) => outcome.kind === "delivered") ? EXIT.ok : EXIT.failed;
};

function testLines({ name, kind, where, outcome }: NoticeTest): readonly string[] {
  const head = `${name}  ${kind} to ${where}`;
  if (outcome.kind === "delivered") return [`${head}: delivered: ${render(outcome.answer)}`];
  const state = outcome.kind === "unknown" ? "NOT CONFIRMED" : "NOT DELIVERED";
  return [`${head}: ${state}: ${render(outcome.reason)}`, `  advice  ${render(outcome.advice)}`];
}
