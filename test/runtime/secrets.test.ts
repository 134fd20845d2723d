import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSealer, openSecrets } from "../../src/runtime/secrets.ts";
import { temporaryFolder } from "../support/temporary.ts";

const URL = "https://service.example";

describe("the first API key", () => {
  it("is read from its file at each use, is deleted together with its file, and may be missing", () => {
    const api_key_file = join(temporaryFolder(), "api-key");
    const none = openSecrets({ url: URL, api_key_file }, {});
    expect([none.firstKey(), none.wipeFirstKey()]).toEqual([null, null]);
    writeFileSync(api_key_file, "one\n", { mode: 0o600 });
    const secrets = openSecrets({ url: URL, api_key_file }, {});
    expect(secrets.firstKey()).toBe("one");
    writeFileSync(api_key_file, "two");
    expect(secrets.firstKey()).toBe("two");
    writeFileSync(api_key_file, "");
    expect(secrets.firstKey()).toBe("two");
    expect(secrets.wipeFirstKey()).toBe(null);
    expect(existsSync(api_key_file)).toBe(false);
    expect(secrets.firstKey()).toBe(null);
  });

  it("is not used while other users can read its file", () => {
    const api_key_file = join(temporaryFolder(), "api-key");
    writeFileSync(api_key_file, "one");
    chmodSync(api_key_file, 0o644);
    const secrets = openSecrets({ url: URL, api_key_file }, {});
    expect(secrets.firstKey()).toBe(null);
    chmodSync(api_key_file, 0o600);
    expect(secrets.firstKey()).toBe("one");
  });

  it("is kept if it is a systemd credential, with advice to remove the credential", () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "key"), "one");
    const secrets = openSecrets({ url: URL, api_key_credential: "key" }, { CREDENTIALS_DIRECTORY: folder });
    expect(secrets.wipeFirstKey()).toContain("take the credential key out");
    expect(secrets.firstKey()).toBe("one");
  });
});

describe("sealed secrets", () => {
  it("can be opened only with the same machine's key, and have equal marks if the secrets are equal", () => {
    const folder = temporaryFolder();
    const sealer = openSealer(folder);
    const first = sealer.seal("pa55 wörd");
    const second = sealer.seal("pa55 wörd");
    expect(first.sealed).not.toBe(second.sealed);
    expect(first.mark).toBe(second.mark);
    expect(sealer.seal("another").mark).not.toBe(first.mark);
    expect(openSealer(folder).open(first)).toBe("pa55 wörd");
    expect(openSealer(temporaryFolder()).open(first)).toBe(null);
    expect(statSync(join(folder, "machine.key")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, "machine.key"))).toHaveLength(32);
  });

  it("can't be opened after a change to any byte", () => {
    const sealer = openSealer(temporaryFolder());
    const { sealed, mark } = sealer.seal("secret");
    const bytes = Buffer.from(sealed, "base64url");
    for (let at = 0; at < bytes.length; at += 1) {
      const spoilt = Buffer.from(bytes);
      spoilt.writeUInt8(spoilt.readUInt8(at) ^ 1, at);
      expect(sealer.open({ sealed: spoilt.toString("base64url"), mark })).toBe(null);
    }
    expect(sealer.open({ sealed: "", mark })).toBe(null);
  });

  it("can't be opened if the machine's key is damaged or readable by others", () => {
    const folder = temporaryFolder();
    openSealer(folder).seal("secret");
    const path = join(folder, "machine.key");
    chmodSync(path, 0o640);
    expect(() => openSealer(folder)).toThrow("chmod 600");
    chmodSync(path, 0o600);
    writeFileSync(path, "short");
    expect(() => openSealer(folder)).toThrow("is damaged");
  });
});
