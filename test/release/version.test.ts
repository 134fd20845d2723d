import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { debianVersion, unreleasedNotes, versionFault, withRelease } from "../../systemd/release/version.ts";

describe("the version of a release", () => {
  it.each(["1.0.0", "1.0.0-rc.1", "10.2.33-rc.12"])("accepts %s", (version) => {
    expect(versionFault(version)).toBe(null);
  });

  it.each(["1.0", "v1.0.0", "1.0.0-beta.1", "1.0.0-rc.0", "01.0.0", "1.0.0+linux", ""])("rejects '%s'", (version) => {
    expect(versionFault(version)).toContain("1.2.3-rc.1");
  });

  it("is upgraded by dpkg from a candidate to the next candidate, and to the release", () => {
    const order = ["0.1.0", "1.0.0-rc.1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.1-rc.1"].map(debianVersion);
    for (const [index, version] of order.slice(1).entries()) {
      execFileSync("dpkg", ["--compare-versions", order[index] ?? "", "lt", version]);
    }
  });
});

describe("the changelog", () => {
  const text = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.0.0 - 2026-01-01\n\n- old\n";

  it("gives the notes of the next release, and no older ones", () => {
    expect(unreleasedNotes(text)).toBe("- new");
  });

  it("keeps all lines when a release takes the unreleased changes", () => {
    const next = withRelease(text, "1.1.0", "2026-02-03");
    expect(next).toContain("## Unreleased\n\n## 1.1.0 - 2026-02-03\n\n- new\n\n## 1.0.0 - 2026-01-01\n\n- old\n");
    expect(() => unreleasedNotes(next)).toThrow("lists nothing");
  });

  it("lists changes for the next release in this repository", () => {
    expect(unreleasedNotes(readFileSync("CHANGELOG.md", "utf8")).length).toBeGreaterThan(100);
  });
});
