import { describe, expect, it } from "vitest";
import { HOSTILE, SHOWN } from "./control-characters.ts";
import { withControlsEscaped } from "../../src/domain/control-characters.ts";
import { ownSequence, terminalText } from "../../src/tools/terminal-text.ts";
import { sayings, styleOf } from "../../src/tools/texts.ts";

describe("withControlsEscaped", () => {
  it("escapes every character that changes the display, and no other", () => {
    expect(withControlsEscaped(HOSTILE)).toBe(SHOWN);
    const harmless = "Zażółć, ñ, 温度, Ω, ═╗, 👩‍🔧\tx\n";
    expect(withControlsEscaped(harmless)).toBe(harmless);
  });

  it("does not change the meaning of JSON text", () => {
    const value = { reason: HOSTILE, [HOSTILE]: [HOSTILE] };
    const text = withControlsEscaped(JSON.stringify(value, null, 2));
    expect(JSON.parse(text)).toEqual(value);
    expect(text).toBe(withControlsEscaped(text));
  });
});

describe("terminalText", () => {
  it("keeps the program's own escape sequences for colors and cursor, and escapes the sequences in all other text", () => {
    const text = `${ownSequence("[H")}${ownSequence("[J")}${styleOf({ colors: true }).bad(HOSTILE)}\n`;
    expect(terminalText(text)).toBe(`\u001b[H\u001b[J\u001b[31m${SHOWN}\u001b[0m\n`);
  });

  it("joins a reason of several lines from a peer into one line, so that it can't imitate program output", () => {
    expect(sayings("refused\nPLC  up for 3 d", "check it")).toBe("refused PLC  up for 3 d; check it");
  });
});
