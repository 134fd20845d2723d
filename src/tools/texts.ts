import { nearest } from "../config/nearest.ts";
import { message, type Text } from "../domain/message.ts";
import { render } from "../domain/messages/render.ts";
import type { Lacking } from "../domain/set-up.ts";
import { ownSequence } from "./terminal-text.ts";
import { missingText, type LinkStatus, type StorageStatus } from "../domain/status.ts";

const BAR_WIDTH = 30;

/** Returns a progress bar for a share from 0 to 1: [######....] 60 % */
export function barText(share: number): string {
  const done = Math.round(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  return `[${"#".repeat(done)}${".".repeat(BAR_WIDTH - done)}] ${Math.floor(share * 100)} %`;
}

/** Returns a progress bar with the remaining time, estimated from the time that the finished share took. */
export function shareText(share: number, took_ms: number): string {
  const left_ms = (took_ms * (1 - share)) / share;
  return share > 0 && left_ms >= 1_000 ? `${barText(share)}, ${durationText(left_ms)} left` : barText(share);
}

/** Formats a duration for people: 850 ms, 12 s, 4 min, 3 h 20 min, 5 d 2 h. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Joins lines for people. Skips null. */
export function linesText(lines: readonly (string | null)[]): string {
  return lines.flatMap((line) => (line === null ? [] : [`${line}\n`])).join("");
}

/** Functions that color a word as good, as a warning or as bad. */
export type Style = Readonly<Record<"good" | "warn" | "bad", (text: string) => string>>;

export const PLAIN: Style = { good: (text) => text, warn: (text) => text, bad: (text) => text };

const colored = (code: number) => (text: string) => `${ownSequence(`[${code}m`)}${text}${ownSequence("[0m")}`;

/** The terminal theme's green, yellow and red (SGR codes 32, 33 and 31). */
const COLOURED: Style = { good: colored(32), warn: colored(33), bad: colored(31) };

export function styleOf({ colors }: { readonly colors: boolean }): Style {
  return colors ? COLOURED : PLAIN;
}

/** Describes a link: state, duration, reason, advice and next retry. */
export function linkText(link: LinkStatus, now: number, style: Style = PLAIN): string {
  const since = durationText(Math.max(0, now - link.since));
  switch (link.kind) {
    case "up":
      return `${style.good("up")} for ${since}`;
    case "degraded":
      return `${style.warn("DEGRADED")} for ${since}: ${sayings(link.reason, link.advice)}`;
    case "down": {
      const { next_try_at, attempt } = link;
      const tried = attempt === 0 ? "" : attempt === 1 ? "1 failed attempt" : `${attempt} failed attempts`;
      const next = next_try_at === null ? "" : `next attempt in ${durationText(Math.max(0, next_try_at - now))}`;
      return `${style.bad("DOWN")} for ${since}: ${sayings(link.reason, link.advice, [tried, next].filter(Boolean).join(", "))}`;
    }
  }
}

/** Renders the texts that are not empty on one line for the terminal, so that a peer's text can't look like a line of ours. */
export function sayings(...texts: readonly Text[]): string {
  return texts
    .map((text) => render(text))
    .filter((text) => text !== "")
    .join("; ")
    .replaceAll(/\s*\n\s*/g, " ");
}

/** Advice for a gateway that is not set up. */
export const SET_UP_HOW = 'open the gateway\'s page ("booth-gateway page --for 30m"), or run "booth-gateway setup"';

/** Names the parts that are not set up, with advice. */
export function lackText(lacks: readonly Lacking[]): string {
  return `no ${lacks.join(" and no ")} yet; ${SET_UP_HOW}`;
}

/** Describes on one line how full the store is, and any damage. */
export function storageText(storage: StorageStatus): string {
  const { used_bytes, max_bytes, hours_to_full, health } = storage;
  const missing = missingText(storage);
  const mb = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
  return sayings(
    `${mb(used_bytes)} of ${mb(max_bytes)} MB used`,
    hours_to_full === null ? "" : `full in ${durationText(Math.round(hours_to_full * 3_600_000))} without the service`,
    missing === null ? "" : `WARNING: ${render(missing)}`,
    health.low ? "STORAGE LOW: the disk is full and the reserved space is used; free space on the disk" : "",
    health.damaged_files.length === 0 ? "" : `damaged files kept: ${health.damaged_files.join(", ")}`,
  );
}

/** Returns a text of several lines, each with a line break. */
export function textLines(lines: readonly Text[]): Text {
  return lines.reduceRight<Text>((more, text) => message("text.line", { text, more }), "");
}

/** Joins texts by "; ". */
export function joinedTexts([first = "", ...others]: readonly Text[]): Text {
  return others.reduce<Text>((text, todo) => message("text.todo", { text, todo }), first);
}

/** Returns a text followed by its hint in brackets, or the text alone without a hint. */
export function hinted(text: Text, hint: Text | undefined): Text {
  return hint === undefined ? text : message("text.hint", { text, hint });
}

/** Appends the nearest of the names to a text about an unknown name: "there is no x (did you mean y?)". */
export function withNearest(text: Text, word: string, names: readonly string[]): Text {
  const name = nearest(word, names);
  return hinted(text, name === undefined ? undefined : message("text.did_you_mean", { name }));
}

/** Returns " (did you mean x?)" for the nearest of the names, or "" if no name is near. */
export function meant(word: string, names: readonly string[], prefix = ""): string {
  const name = nearest(word, names);
  return name === undefined ? "" : ` (did you mean ${prefix}${name}?)`;
}
