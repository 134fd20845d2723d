/** A package's own words for Debian. */
export interface Control {
  readonly name: string;
  readonly depends: string;
  /** Lines of the description: the synopsis, and the rest. */
  readonly description: readonly string[];
  /** Folder of the maintainer scripts, below systemd/package. */
  readonly scripts: string;
}
