import { describe, expect, it } from "vitest";
import { HOSTILE, SHOWN } from "./control-characters.ts";
import { withControlsEscaped } from "../../src/domain/control-characters.ts";
import { ownSequence, terminalText } from "../../src/tools/terminal-text.ts";
import { sayings, styleOf } from "../../src/tools/texts.ts";

describe("withControlsEscaped", () => {
  it("escapes every character that changes what is seen, and no other", () => {
    expect(withControlsEscaped(HOSTILE)).toBe(SHOWN);
    const harmless = "Zażółć, ñ, 温度, Ω, ═╗, 👩‍🔧\tx\n";
    expect(withControlsEscaped(harmless)).toBe(harmless);
  });

  it("leaves JSON the same JSON", () => {
    const told = { reason: HOSTILE, [HOSTILE]: [HOSTILE] };
    const text = withControlsEscaped(JSON.stringify(told, null, 2));
    expect(JSON.parse(text)).toEqual(told);
    expect(text).toBe(withControlsEscaped(text));
  });
});

describe("terminalText", () => {
  it("lets our own colours and cursor movements pass, and no sequence of a foreign text", () => {
    const text = `${ownSequence("[H")}${ownSequence("[J")}${styleOf({ colours: true }).bad(HOSTILE)}\n`;
    expect(terminalText(text)).toBe(`\u001b[H\u001b[J\u001b[31m${SHOWN}\u001b[0m\n`);
  });

  it("keeps a peer's words on one line, so that they cannot pass for a line of ours", () => {
    expect(sayings("refused\nPLC  up for 3 d", "check it")).toBe("refused PLC  up for 3 d; check it");
  });
});
