import { message, type Text } from "../../domain/message.ts";
import { render } from "../../domain/messages/render.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PlcTools } from "../../acquisition/port.ts";
import { parseProfile } from "../../config/profile.ts";
import type { Profile } from "../../domain/profile.ts";
import { CommandError, EXIT, type Call, type Io, type Run, type TableRow } from "../command.ts";
import { lengthOption, textOption } from "../options.ts";
import { deviceLink } from "../plc-tools.ts";
import { print } from "../print.ts";
import { judge, type Judgement } from "../rules/profile-test.ts";
import { TEST_FOR } from "../rules/usual.ts";
import { styleOf, textLines, withNearest } from "../texts.ts";
import { missingText } from "./enter.ts";
import { missingIn, newDraft, openDraft, ownFolder, problemsIn, saveDraft, variablesOf } from "./file.ts";
import { pollLive, pollTrace } from "./read.ts";

/** Makes the command `booth-gateway profile`: makes a user's own profile step by step at the PLC. Each action loads only its own code. */
export function profileCommand(tools: PlcTools): Run {
  return async (call) => {
    switch (call.operands[0]) {
      case "new":
        return newProfile(call);
      case "add":
        return (await import("./add.ts")).addCommand(tools)(call);
      case "browse":
        return (await import("./browse.ts")).browseCommand(tools)(call);
      case "import":
        return importList(tools, call);
      case "export":
        return (await import("./export.ts")).exportCommand(call);
      case "learn":
        return learn(tools, call);
      case "set":
        return (await import("./edit.ts")).setTag(call);
      case "remove":
        return (await import("./edit.ts")).removeTag(call);
      case "undo":
        return (await import("./edit.ts")).undo(call);
      case "delete":
        return (await import("./edit.ts")).deleteProfile(call);
      case "test":
        return testProfile(tools, call);
      default:
        throw new CommandError(message("workshop.no_action"), EXIT.usage);
    }
  };
}

/**
 * Imports a register list. The page does the same on a thread, which must not load the drivers, so `import.ts` does not import `live.ts`.
 */
async function importList(tools: PlcTools, call: Call): Promise<number> {
  const { importCommand } = await import("./import.ts");
  const { liveAt } = await import("./live.ts");
  return importCommand((asked, draft) => liveAt({ tools, ...asked }, draft))(call);
}

function newProfile(call: Call): number {
  const { values, operands } = call;
  const name = operands[1];
  if (name === undefined) throw new CommandError(message("workshop.which_name"), EXIT.usage);
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) throw new CommandError(message("workshop.name", { name }), EXIT.usage);
  const path = join(ownFolder(values), `${name}.yaml`);
  if (existsSync(path)) throw new CommandError(message("workshop.is_there", { file: path }), EXIT.usage);
  const text = newDraft(name, textOption(values, "from") ?? "modbus", textOption(values, "unit"));
  saveDraft({ path }, text);
  const missing = missingIn(problemsIn({ path, text }));
  print(call, { file: path, missing }, () =>
    textLines([message("workshop.written", { file: path, missing: missingText(missing) }), message("workshop.next")]),
  );
  return EXIT.ok;
}

async function learn(tools: PlcTools, call: Call): Promise<number> {
  const what = call.operands[1] ?? "";
  if (what === "modes") return (await import("./learn.ts")).learnModesCommand(tools)(call);
  if (what === "counters") return (await import("./counters.ts")).learnCountersCommand(tools)(call);
  const problem =
    what === ""
      ? message("workshop.learn_what")
      : withNearest(message("workshop.not_learned", { what }), what, ["modes", "counters"]);
  throw new CommandError(message("workshop.learn_these", { problem }), EXIT.usage);
}

const LONGEST_TEST_H = 24;

async function testProfile(tools: PlcTools, call: Call): Promise<number> {
  const { values, io } = call;
  const draft = openDraft(values);
  // Tests the tags of an unfinished profile too, for example before any mode is known.
  const profile = problemsIn(draft).length === 0 ? parseProfile(draft.text, draft.path) : variablesOf(draft);
  const trace = textOption(values, "trace");
  if (trace !== undefined && profile.protocol !== "modbus")
    throw new CommandError(message("workshop.trace_modbus"), EXIT.usage);
  const for_ms = lengthOption({ for: TEST_FOR, ...values }, "for", LONGEST_TEST_H) ?? 0;
  const polls =
    trace !== undefined && profile.protocol === "modbus"
      ? pollTrace(trace, profile)
      : await pollLive({ tools, link: deviceLink(values, profile.protocol), io }, profile, for_ms);
  const judgement = judge(profile, polls);
  if (values["json"] === true || io.answer !== undefined) print(call, { file: draft.path, ...judgement }, () => "");
  else showJudgement(profile, judgement, io);
  return judgement.ok ? EXIT.ok : EXIT.failed;
}

const VERDICTS = { ok: "OK", look: message("test.look"), wrong: message("test.wrong") } as const;
const HEADS = ["verdict", "tag", "value", "unit", "reads"] as const;

function showJudgement({ name, version }: Profile, { tags, modes, ok }: Judgement, io: Io): void {
  const head = [...HEADS.map((one) => message(`test.${one}`)), ""];
  const rows = tags.map(({ tag, value, unit, reads, verdict, why }): TableRow => {
    return [VERDICTS[verdict], tag, value === null ? "-" : String(value), unit, reads, why];
  });
  const wrong = tags.filter(({ verdict }) => verdict === "wrong").length;
  const count = tags.filter(({ verdict }) => verdict === "look").length;
  const result = colored(
    ok ? message("workshop.reads_right") : message("workshop.wrong", { wrong, tags: tags.length }),
  );
  const seen = modes.map(({ raw, mode, reads }) =>
    message("test.mode", { raw, mode: mode ?? message("test.not_mapped"), reads }),
  );
  const conclusion =
    count === 0 ? result : message("text.todo", { text: result, todo: message("test.look_at", { count }) });
  io.table([[`${name} ${version}`]]);
  io.table([head, ...rows]);
  io.table([...seen, conclusion].map((line) => [line]));

  /** Colors a text if the output is a terminal with colors. */
  function colored(text: Text): Text {
    const style = styleOf(io);
    return io.colors ? style[ok ? "good" : "bad"](render(text)) : text;
  }
}
