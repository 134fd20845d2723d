import { existsSync } from "node:fs";
import { join } from "node:path";
import type { StoreCheck, StoreFiles, StoreProgress } from "../../store/port.ts";
import { bad, ok, skipped, type Finding } from "./finding.ts";

/** Looks through all of the store, beside a running agent too. */
export function examineStore(files: StoreFiles, dataDir: string, progress: StoreProgress): Finding {
  if (!existsSync(join(dataDir, "store.db"))) return skipped("store", `there is none in ${dataDir} yet`);
  try {
    return storeFinding(files.check(dataDir, progress));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (["EACCES", "SQLITE_CANTOPEN", "SQLITE_READONLY"].includes(code)) {
      return skipped("store", `no right to read it in ${dataDir}: run it as root (sudo)`);
    }
    const said = error instanceof Error ? error.message : String(error);
    return bad("store", said, 'stop the agent, then "booth-gateway store salvage", then start it');
  }
}

/** Pure. */
export function storeFinding({ file, bytes, sound, problems, streams }: StoreCheck): Finding {
  const damaged = streams.reduce(
    (sum, one) => sum + one.damaged_rows + one.damaged_facts + one.damaged_states + one.missing,
    0,
  );
  const said = `${file}, ${(bytes / 1_000_000).toFixed(1)} MB`;
  if (sound) return ok("store", `${said}: sound`);
  const why = [...problems.slice(0, 1), ...(damaged === 0 ? [] : [`${damaged.toString()} damaged or missing`])].join(
    "; ",
  );
  return bad(
    "store",
    `${said}: ${why}`,
    'restart the agent, which mends its store; "booth-gateway store check" tells more',
  );
}
