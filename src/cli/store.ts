import type { StoreCheck, StoreFiles, StoreMade, StoreProgress } from "../store/port.ts";
import { loadUsable } from "../config/usable.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Io, type Run } from "./command.ts";
import { print } from "./print.ts";
import { barText } from "./text.ts";

type Action = "check" | "salvage" | "export" | "import" | "backup";
const ACTIONS: readonly Action[] = ["check", "salvage", "export", "import", "backup"];
const WITH_FILE: readonly Action[] = ["export", "import", "backup"];

/** `booth-gateway store ACTION [FILE]`: the store as a whole. */
export function storeCommand(files: StoreFiles): Run {
  return async ({ values, operands, io }) => {
    const [word, file] = operands;
    const action = ACTIONS.find((one) => one === word);
    if (action === undefined) throw new CommandError(`say what to do: ${ACTIONS.join(", ")}`, EXIT.usage);
    if (WITH_FILE.includes(action) !== (file !== undefined)) {
      throw new CommandError(
        `${action} ${file === undefined ? "needs the name of a file" : "takes no file"}`,
        EXIT.usage,
      );
    }
    const given = values["data-dir"];
    const dataDir = typeof given === "string" ? given : loadUsable(configPath(values)).config.data_dir;
    const done = await carryOut({ files, dataDir, file: file ?? "" }, action, teller(io));
    io.progress("");
    print({ values, io }, done.result, () => done.text);
    return done.sound ? EXIT.ok : EXIT.failed;
  };
}

interface Work {
  readonly files: StoreFiles;
  readonly dataDir: string;
  readonly file: string;
}

interface Done {
  readonly result: unknown;
  readonly text: string;
  readonly sound: boolean;
}

async function carryOut({ files, dataDir, file }: Work, action: Action, progress: StoreProgress): Promise<Done> {
  switch (action) {
    case "check": {
      const result = files.check(dataDir, progress);
      return { result, text: checkText(result), sound: result.sound };
    }
    case "salvage": {
      const result = files.salvage(dataDir, progress);
      return { result, text: madeText(result), sound: true };
    }
    case "import": {
      const result = files.import(dataDir, file, progress);
      return { result, text: madeText(result), sound: true };
    }
    case "export":
    case "backup": {
      const result = await files[action](dataDir, file, progress);
      return { result, text: `${result.file}: ${megabytes(result.bytes)}\n`, sound: true };
    }
  }
}

function teller(io: Io): StoreProgress {
  return (done, of) => io.progress(of === 0 ? "" : `${barText(done / of)}  ${done.toString()} of ${of.toString()}`);
}

function checkText({ file, bytes, sound, problems, streams }: StoreCheck): string {
  const lines = streams.flatMap((one) => [
    `${one.booth}   stream ${one.stream}`,
    `  records     ${one.oldest_seq.toString()} to ${one.newest_seq.toString()}, acked up to ${one.acked_seq.toString()}`,
    `  damaged     ${one.damaged_rows.toString()} rows, ${one.damaged_facts.toString()} facts, ${one.damaged_states.toString()} kept states; ${one.missing.toString()} records missing`,
    `  quarantine  ${one.quarantined.toString()} records known to be gone`,
  ]);
  const verdict = sound
    ? "sound"
    : 'NOT SOUND: the agent mends it at its next start, or now: stop it and run "booth-gateway store salvage"';
  return `${[`${file}, ${megabytes(bytes)}: ${verdict}`, ...problems.map((problem) => `  ${problem}`), ...lines].join("\n")}\n`;
}

function madeText({ log_rows, facts, streams, aside }: StoreMade): string {
  const head = `${log_rows.toString()} rows and ${facts.toString()} facts are in the new store`;
  const lines = streams.map(
    ({ booth, stream, newest_seq, missing }) =>
      `  ${booth}   stream ${stream} up to ${newest_seq.toString()}, ${missing.toString()} records missing`,
  );
  const before = aside === null ? [] : [`the store before is kept as ${aside}`];
  return `${[head, ...lines, ...before].join("\n")}\n`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
