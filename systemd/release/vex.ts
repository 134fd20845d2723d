import { readFileSync } from "node:fs";
import { join } from "node:path";
import { serialOf } from "../package/sbom.ts";

/** CycloneDX's states of an analysis, and its reasons why a product is not affected. */
const STATES = ["not_affected", "exploitable", "in_triage", "resolved", "false_positive"] as const;
const REASONS = [
  "code_not_present",
  "code_not_reachable",
  "requires_configuration",
  "requires_dependency",
  "requires_environment",
  "protected_by_compiler",
  "protected_at_runtime",
  "protected_at_perimeter",
  "protected_by_mitigating_control",
] as const;

/** The result of a maintainer's analysis of one advisory for one package: an entry of vex.json. */
export interface Statement {
  /** The advisory's id, such as GHSA-... or CVE-... */
  readonly id: string;
  /** npm's name of the package, and the version that was examined. */
  readonly name: string;
  readonly version: string;
  readonly state: (typeof STATES)[number];
  /** Required if the state is not_affected. */
  readonly justification?: (typeof REASONS)[number];
  /** The reason in words, for the people who read it years later. */
  readonly detail: string;
}

/** Reads vex.json. Throws with the first entry that explains nothing. */
export function readStatements(root: string): readonly Statement[] {
  // A maintainer's file; each entry is checked.
  const entries = JSON.parse(readFileSync(join(root, "systemd/release/vex.json"), "utf8")) as readonly Statement[];
  for (const entry of entries) checkStatement(entry);
  return entries;
}

export function checkStatement({ id, name, version, state, justification, detail }: Statement): void {
  const wrong = (reason: string): Error => new Error(`vex.json, ${id} of ${name}@${version}: ${reason}`);
  if (!STATES.includes(state)) throw wrong(`the state is one of ${STATES.join(", ")}`);
  if (state === "not_affected" && (justification === undefined || !REASONS.includes(justification)))
    throw wrong(`the justification is one of ${REASONS.join(", ")}`);
  if (detail.trim().split(/\s+/).length < 4) throw wrong("detail gives the reason in words");
}

interface Bill {
  readonly serialNumber: string;
  readonly components: readonly { readonly "bom-ref": string; readonly name: string; readonly version: string }[];
}

/** Returns the statements as CycloneDX VEX: each refers to its component in the bills of materials. */
export function vexText(parts: {
  readonly version: string;
  readonly made_at: Date;
  readonly statements: readonly Statement[];
  /** Texts of the bills of the packages that were released. */
  readonly bills: readonly string[];
}): string {
  // Written by sbomText.
  const bills = parts.bills.map((text) => JSON.parse(text) as Bill);
  const vulnerabilities = parts.statements.map((statement) => vulnerabilityOf(statement, bills));
  const vex = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialOf(JSON.stringify([parts.version, vulnerabilities, bills.map((bill) => bill.serialNumber)])),
    version: 1,
    metadata: { timestamp: parts.made_at.toISOString() },
    vulnerabilities: vulnerabilities.filter(({ affects }) => affects.length > 0),
  };
  return `${JSON.stringify(vex, null, 1)}\n`;
}

function vulnerabilityOf({ id, name, version, state, justification, detail }: Statement, bills: readonly Bill[]) {
  const affects = bills.flatMap(({ serialNumber, components }) =>
    components
      .filter((component) => component.name === name && component.version === version)
      .map((component) => ({
        ref: `urn:cdx:${serialNumber.replace("urn:uuid:", "")}/1#${encodeURIComponent(component["bom-ref"])}`,
      })),
  );
  const source = { name: "OSV", url: `https://osv.dev/vulnerability/${id}` };
  const analysis = { state, ...(justification === undefined ? {} : { justification }), detail };
  return { "bom-ref": id, id, source, analysis, affects };
}
