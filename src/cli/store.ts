import type { StoreCheck, StoreFiles, StoreMade, StoreProgress } from "../store/port.ts";
import { loadUsable } from "../config/usable.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { textOption } from "../tools/options.ts";
import { print } from "../tools/print.ts";
import { barText, linesText } from "../tools/texts.ts";

type Action = "check" | "salvage" | "export" | "import" | "backup";
const WITH_FILE: ReadonlySet<Action> = new Set(["export", "import", "backup"]);

/** Runs `booth-gateway store ACTION [FILE]`. */
export function storeCommand(files: StoreFiles): Run {
  return async (call) => {
    const { values, io } = call;
    // Needs no check of the action, because the parser accepts no other word.
    const [action, file] = call.operands as [Action, string?];
    if (WITH_FILE.has(action) !== (file !== undefined)) {
      const wrong = file === undefined ? "needs the name of a file" : "takes no file";
      throw new CommandError(`${action} ${wrong}`, EXIT.usage);
    }
    const dataDir = textOption(values, "data-dir") ?? loadUsable(configPath(values)).config.data_dir;
    const progress: StoreProgress = (done, of) =>
      io.progress(of === 0 ? "" : `${barText(done / of)}  ${done} of ${of}`);
    const done = await carryOut(files, { action, dataDir, file: file ?? "" }, progress);
    io.progress("");
    print(call, done.result, () => done.text);
    return done.sound ? EXIT.ok : EXIT.failed;
  };
}

async function carryOut(
  files: StoreFiles,
  { action, dataDir, file }: { readonly action: Action; readonly dataDir: string; readonly file: string },
  progress: StoreProgress,
): Promise<{ readonly result: unknown; readonly text: string; readonly sound: boolean }> {
  switch (action) {
    case "check": {
      const result = files.check(dataDir, progress);
      return { result, text: checkText(result), sound: result.sound };
    }
    case "salvage":
    case "import": {
      const result = action === "salvage" ? files.salvage(dataDir, progress) : files.import(dataDir, file, progress);
      return { result, text: madeText(result), sound: true };
    }
    case "export":
    case "backup": {
      const result = await files[action](dataDir, file, progress);
      return { result, text: `${result.file}: ${megabytes(result.bytes)}\n`, sound: true };
    }
  }
}

function checkText({ file, bytes, sound, problems, streams }: StoreCheck): string {
  const verdict = sound
    ? "sound"
    : 'NOT SOUND: the agent mends it at its next start, or now: stop it and run "booth-gateway store salvage"';
  return linesText([
    `${file}, ${megabytes(bytes)}: ${verdict}`,
    ...problems.map((problem) => `  ${problem}`),
    ...streams.flatMap((one) => [
      `${one.booth}   stream ${one.stream}`,
      `  records     ${one.oldest_seq} to ${one.newest_seq}, acked up to ${one.acked_seq}`,
      `  damaged     ${one.damaged_rows} rows, ${one.damaged_facts} facts, ${one.damaged_states} kept states; ${one.missing} records missing`,
      `  quarantine  ${one.quarantined} records known to be gone`,
    ]),
  ]);
}

function madeText({ log_rows, facts, streams, aside }: StoreMade): string {
  return linesText([
    `${log_rows} rows and ${facts} facts are in the new store`,
    ...streams.map(
      ({ booth, stream, newest_seq, missing }) =>
        `  ${booth}   stream ${stream} up to ${newest_seq}, ${missing} records missing`,
    ),
    aside === null ? null : `the store before is kept as ${aside}`,
  ]);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
