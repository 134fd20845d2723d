import { describe, expect, it } from "vitest";
import { message } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { alignedText, forPrograms, print } from "../../src/tools/print.ts";
import { textLines } from "../../src/tools/texts.ts";
import { quietIo } from "./say.ts";

const AT = Date.UTC(2026, 2, 2, 15, 5, 12, 250);
const ISO = "2026-03-02T15:05:12.250Z";

it("forPrograms writes every instant of a JSON answer in ISO 8601, and leaves other numbers unchanged", () => {
  expect(
    forPrograms({
      at: AT,
      booths: [{ since: AT, log: { last_commit_at: AT, used_bytes: AT, newest_seq: 7 }, undo_until: null }],
      entered_at: { active: AT },
      waiting_at: 1_500,
      start: ISO,
      hours_to_full: 12.5,
    }),
  ).toEqual({
    at: ISO,
    booths: [{ since: ISO, log: { last_commit_at: ISO, used_bytes: AT, newest_seq: 7 }, undo_until: null }],
    entered_at: { active: ISO },
    waiting_at: 1_500,
    start: ISO,
    hours_to_full: 12.5,
  });
});

describe("alignedText", () => {
  it("renders messages, separates columns by two spaces, and right-aligns columns of numbers", () => {
    const rows = [
      [message("test.verdict"), message("test.tag"), message("test.reads"), ""],
      [message("test.look"), "mode", 12, message("test.tiny")],
      ["OK", "air_temperature", 7, ""],
    ];
    expect(alignedText(rows)).toBe(
      [
        "verdict  tag              reads\n",
        "CHECK    mode                12  almost zero; check word order and address\n",
        "OK       air_temperature      7\n",
      ].join(""),
    );
  });

  it("returns an empty text for an empty list of rows", () => {
    expect(alignedText([])).toBe("");
  });
});

describe("print", () => {
  it("writes the messages in a JSON answer as English text", () => {
    let out = "";
    const io = quietIo({ out: (text) => void (out += render(text)) });
    print({ values: { json: true }, io }, { missing: [message("workshop.a_tag")] }, () => "");
    expect(JSON.parse(out)).toEqual({ missing: ["at least one tag"] });
  });
});

it("textLines ends each text with a line break", () => {
  expect(render(textLines([message("workshop.usable"), "b"]))).toBe("the profile is complete\nb\n");
});
