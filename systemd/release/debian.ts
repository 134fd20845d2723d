import { execFileSync } from "node:child_process";

/** The releases of Debian that packages are tested on. */
export const RELEASES = ["bookworm", "trixie"] as const;
export type Release = (typeof RELEASES)[number];

/** Returns mmdebstrap's lines of sources for a release, from the mirrors of this machine's apt. */
export function sourcesOf(release: Release): readonly string[] {
  const format = ["--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"];
  const lines = execFileSync("apt-get", ["indextargets", ...format], { encoding: "utf8" })
    .trim()
    .split("\n");
  const [ours = ""] = lines[0]?.split(" ") ?? [];
  const base = ours.replace(/-.*$/, "");
  const found = new Map(lines.map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]));
  return ["", "-security"].flatMap((suffix) => {
    const uri = found.get(`${base}${suffix}`);
    return uri === undefined ? [] : [`deb ${uri} ${release}${suffix} main`];
  });
}
