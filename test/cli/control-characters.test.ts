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

  it("doesn't change the meaning of JSON", () => {
    const value = { reason: HOSTILE, [HOSTILE]: [HOSTILE] };
    const text = withControlsEscaped(JSON.stringify(value, null, 2));
    expect(JSON.parse(text)).toEqual(value);
    expect(text).toBe(withControlsEscaped(text));
  });
});

describe("terminalText", () => {
  it("passes the program's own colors and cursor movements, and escapes the sequences of other texts", () => {
    const text = `${ownSequence("[H")}${ownSequence("[J")}${styleOf({ colors: true }).bad(HOSTILE)}\n`;
    expect(terminalText(text)).toBe(`\u001b[H\u001b[J\u001b[31m${SHOWN}\u001b[0m\n`);
  });

  it("keeps a peer's text on one line, so that it can't imitate a line of the program", () => {
    expect(sayings("refused\nPLC  up for 3 d", "check it")).toBe("refused PLC  up for 3 d; check it");
  });
});
