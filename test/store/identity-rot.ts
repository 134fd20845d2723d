import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { seededRandom } from "../support/seeded-random.ts";

const BOOTHS = ["booth-1", "booth-2", "booth-3"];
const MAIN = "identity.db";
const COPY = "identity.copy.db";

/** Counts of the results of flips. Each flip is one of the first three. */
export interface IdentityRot {
  readonly flips: number;
  /** Unchanged, from the damaged file. */
  whole: number;
  /** Unchanged, from the copy. */
  from_copy: number;
  /** The only remaining file is unusable. A new identity is created that reports the loss of the old one. */
  lost: number;
  /** The identity differs from the written one. */
  wrong: number;
  readonly examples: string[];
}

/**
 * Flips one bit per turn of an identity: alternately in its file with an intact copy, and in the copy with the file
 * deleted.
 */
export function rotIdentity(folder: string, flips: number, seed: number): IdentityRot {
  const whole = join(folder, "whole");
  mkdirSync(whole);
  const truth = make(whole);
  const random = seededRandom(seed);
  const result: IdentityRot = { flips, whole: 0, from_copy: 0, lost: 0, wrong: 0, examples: [] };
  for (let flip = 0; flip < flips; flip += 1) {
    const turn = join(folder, `flip-${flip}`);
    mkdirSync(turn);
    const hit = flip % 2 === 0 ? MAIN : COPY;
    const bytes = readFileSync(join(whole, hit));
    const at = Math.floor(random.next() * bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random.next() * 8));
    writeFileSync(join(turn, hit), bytes);
    if (hit === MAIN) copyFileSync(join(whole, COPY), join(turn, COPY));
    judge(result, { turn, truth, what: `${hit} byte ${at}` });
    rmSync(turn, { recursive: true });
  }
  return result;
}

function make(folder: string): string {
  const identity = openIdentity(folder, () => "11111111-1111-4111-8111-111111111111");
  identity.setCredential("a-secret-of-256-bits");
  for (const booth of BOOTHS) {
    identity.setLearned(booth, { holes: [[booth, 40, 60]] });
    identity.noteOrigin({ stream: `stream of ${booth}`, booth, created_at: 1 });
    identity.setProvisioning(booth, {
      state: "active",
      serial: `ABCD-${booth}`,
      generation: 7,
      reason: "x".repeat(300),
    });
  }
  const truth = all(folder);
  identity.close();
  return truth;
}

function all(folder: string): string {
  const identity = openIdentity(folder, () => "another");
  const rows = BOOTHS.map((booth) => [identity.provisioning(booth), identity.learned(booth)]);
  const truth = JSON.stringify([identity.gateway(), rows]);
  identity.close();
  return truth;
}

function judge(result: IdentityRot, { turn, truth, what }: { turn: string; truth: string; what: string }): void {
  const hadMain = what.startsWith(`${MAIN} `);
  try {
    const found = all(turn);
    if (found === truth) result[wasSetAside(turn) ? "from_copy" : "whole"] += 1;
    else if (!hadMain && found.includes('"is_lost":true')) result.lost += 1;
    else {
      result.wrong += 1;
      result.examples.push(what);
    }
  } catch (error) {
    // The agent must always start.
    result.wrong += 1;
    result.examples.push(`${what}: ${String(error)}`);
  }
}

function wasSetAside(folder: string): boolean {
  try {
    return readFileSync(join(folder, `${MAIN}.damaged`)).length > 0;
  } catch {
    return false;
  }
}
