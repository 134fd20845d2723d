/** Versions of releases: final ones, and candidates that precede them. */
const RELEASE = /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-rc\.[1-9]\d*)?$/;

/** Returns the reason why a text is not the version of a release; null if it is one. */
export function versionFault(version: string): string | null {
  return RELEASE.test(version) ? null : `${version} is not a version such as 1.2.3 or 1.2.3-rc.1`;
}

export function isCandidate(version: string): boolean {
  return version.includes("-rc.");
}

/** Returns Debian's form of a version, in which a candidate is older than its release. */
export function debianVersion(version: string): string {
  return version.replace("-", "~");
}

const UNRELEASED = "## Unreleased\n";

/** Returns the text of the changelog's section "Unreleased". Throws if the section is missing or empty. */
export function unreleasedNotes(changelog: string): string {
  const [, after] = changelog.split(UNRELEASED);
  if (after === undefined) throw new Error("CHANGELOG.md has no section ## Unreleased");
  const notes = after.split(/^## /m)[0]?.trim() ?? "";
  if (notes === "") throw new Error("CHANGELOG.md lists nothing under ## Unreleased");
  return notes;
}

/** Returns the changelog with the unreleased changes under the version and its day, and an empty section for the next. */
export function withRelease(changelog: string, version: string, day: string): string {
  unreleasedNotes(changelog);
  return changelog.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${day}\n`);
}
