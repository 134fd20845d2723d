import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScrubber } from "../../src/scrubber.ts";

const SECRET = "Tr0ub4dor&3/+ü=";

/** How peers quote what they were sent. */
const QUOTATIONS: Readonly<Record<string, (secret: string) => string>> = {
  unchanged: (secret) => secret,
  "in another case": (secret) => secret.toUpperCase(),
  "encoded for a URL": encodeURIComponent,
  "encoded for a URL in lowercase": (secret) => encodeURIComponent(secret).toLowerCase(),
  "encoded for a form": (secret) => new URLSearchParams({ p: secret }).toString(),
  "in base64": (secret) => Buffer.from(secret).toString("base64"),
  "in base64 for URLs": (secret) => Buffer.from(secret).toString("base64url"),
  "as SMTP AUTH PLAIN": (secret) => Buffer.from(`\0booths\0${secret}`).toString("base64"),
  "as HTTP Basic authentication": (secret) => `Basic ${Buffer.from(`u:${secret}`).toString("base64")}`,
  "in base64 with another user name": (secret) => Buffer.from(`us:${secret}`).toString("base64"),
  "in hexadecimal": (secret) => Buffer.from(secret).toString("hex"),
  "as JSON inside JSON": (secret) => JSON.stringify(JSON.stringify({ secret })),
  "as HTML": (secret) => secret.replaceAll("&", "&amp;").replaceAll("/", "&#x2F;").replaceAll("=", "&#61;"),
  "with JSON escapes": (secret) =>
    Array.from(secret, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""),
  "over two lines of SMTP": (secret) => `${secret.slice(0, 6)}\r\n535-5.7.8 ${secret.slice(6)}`,
  "over two lines of a quoted mail": (secret) => `${secret.slice(0, 6)}\n> ${secret.slice(6)}`,
  "in quoted-printable": (secret) => `${secret.slice(0, 6)}=\r\n${secret.slice(6)}`,
  "in pieces with quotes": (secret) => Array.from(secret).join("' '"),
  "cut off": (secret) => `${secret.slice(0, 9)}...`,
  "in a URL": (secret) => `https://booths:${encodeURIComponent(secret)}@mail.example/`,
};

function scrubberOf(...secrets: readonly string[]) {
  const scrubber = createScrubber();
  for (const secret of secrets) scrubber.learn(secret);
  return scrubber;
}

describe("the secret scrubber", () => {
  it.each(Object.entries(QUOTATIONS))("removes a secret that a peer's message quotes %s", (_, quote) => {
    const told = scrubberOf(SECRET).scrub(`535 refused: ${quote(SECRET)}`);
    expect(told).toContain("535 refused: ");
    expect(told).toContain("[left out]");
    const left = told.replaceAll("[left out]", "");
    expect(left.length).toBeLessThan("535 refused: ".length + 60);
    for (const piece of [SECRET.slice(0, 6), SECRET.slice(3, 9), Buffer.from(SECRET).toString("base64").slice(0, 8)])
      expect(left.toLowerCase()).not.toContain(piece.toLowerCase());
  });

  it("removes any random secret that is quoted completely, in every known encoding", () => {
    const quotes = fc.constantFrom(...Object.values(QUOTATIONS).filter((quote) => quote !== QUOTATIONS["cut off"]));
    const secrets = fc.string({
      minLength: 12,
      maxLength: 40,
      unit: fc.constantFrom(...Array.from("aB3$%&/=+?_-.:;#~x9Z")),
    });
    fc.assert(
      fc.property(secrets, quotes, (secret, quote) => {
        const told = scrubberOf(secret).scrub(`x ${quote(secret)} y`);
        expect(told).toContain("[left out]");
        expect(told).not.toContain(secret);
      }),
    );
  });

  it("doesn't change a text that quotes no secret", () => {
    const text = "535 5.7.8 Error: authentication failed: (reason unavailable), see https://mail.example/help?x=1";
    expect(scrubberOf(SECRET, "correct horse battery").scrub(text)).toBe(text);
  });

  it("removes path, query and password of a URL, but keeps the host", () => {
    const scrubber = createScrubber();
    scrubber.learnAddress("https://u:pa55w0rd@hooks.example/services/T0AAAAAAA/B0BBBBBBB?key=c0ffee00");
    const told = scrubber.scrub(
      "POST hooks.example /services/T0AAAAAAA/B0BBBBBBB?key=c0ffee00 of u pa55w0rd: no channel B0BBBBBBB, c0ffee00",
    );
    expect(told).toBe("POST hooks.example [left out] of u [left out]: no channel [left out], [left out]");
  });

  it("still knows the newest of more than 500 secrets, and ignores a secret that is too short", () => {
    const scrubber = createScrubber();
    for (let count = 0; count <= 500; count += 1) scrubber.learn(`secret-number-${count}-x`);
    scrubber.learn("abc");
    expect(scrubber.scrub("abc")).toBe("abc");
    expect(scrubber.scrub("secret-number-500-x")).toBe("[left out]");
  });
});
