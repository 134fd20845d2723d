import { say } from "../../domain/sentences.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PlcTools } from "../../acquisition/port.ts";
import type { Profile } from "../../domain/profile.ts";
import { CommandError, EXIT, type Run } from "../command.ts";
import { deviceLink } from "../plc-tools.ts";
import {
  inspectDraft,
  missingIn,
  newDraft,
  openDraft,
  ownFolder,
  profileOfDraft,
  saveDraft,
  withUnit,
} from "./file.ts";
import { pollLive, pollTrace } from "./read.ts";
import { judge, type Judgement } from "../rules/profile-test.ts";
import { TEST_FOR } from "../rules/usual.ts";
import { linesText, type Style, styleOf, meant } from "../texts.ts";
import { lengthOption, textOption } from "../options.ts";
import { missingText } from "./enter.ts";
import { print, tableText } from "../print.ts";

/** Each action with the way to its code, so that none loads what another needs. */
const ACTIONS: Readonly<Record<string, (tools: PlcTools) => Promise<Run>>> = {
  new: () => Promise.resolve(newCommand),
  add: async (tools) => (await import("./add.ts")).addCommand(tools),
  browse: async (tools) => (await import("./browse.ts")).browseCommand(tools),
  import: async (tools) => (await import("./import.ts")).importCommandAt(tools),
  export: async () => (await import("./export.ts")).exportCommand,
  learn: (tools) => Promise.resolve(learnCommand(tools)),
  test: (tools) => Promise.resolve(testCommand(tools)),
};

/** `booth-gateway profile`: a profile of one's own, made step by step at the PLC. */
export function profileCommand(tools: PlcTools): Run {
  return async (call) => {
    const action = ACTIONS[call.operands[0] ?? ""];
    if (action === undefined) throw new CommandError("there is no such action", EXIT.usage);
    return (await action(tools))(call);
  };
}

const newCommand: Run = (call) => {
  const { values, operands } = call;
  const name = operands[1];
  if (name === undefined) throw new CommandError("name the profile: profile new NAME --from FAMILY", EXIT.usage);
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)) {
    throw new CommandError(say("workshop.name", { name }), EXIT.usage);
  }
  const path = join(ownFolder(values), `${name}.yaml`);
  if (existsSync(path)) throw new CommandError(say("workshop.is_there", { file: path }), EXIT.usage);
  const begun = newDraft(name, textOption(values, "from") ?? "modbus", new Date().toISOString().slice(0, 10));
  const text = withUnit(begun, textOption(values, "unit"));
  saveDraft({ path }, text);
  const missing = missingIn(inspectDraft({ path, text }).problems);
  print(call, { file: path, missing }, () =>
    linesText([say("workshop.written", { file: path, missing: missingText(missing) }), say("workshop.next")]),
  );
  return Promise.resolve(EXIT.ok);
};

function learnCommand(tools: PlcTools): Run {
  return async (call) => {
    const what = call.operands[1] ?? "";
    if (what === "modes") return (await import("./learn.ts")).learnModesCommand(tools)(call);
    if (what === "counters") return (await import("./counters.ts")).learnCountersCommand(tools)(call);
    const said = what === "" ? "say what to learn" : `"${what}" can't be learned${meant(what, ["modes", "counters"])}`;
    throw new CommandError(`${said}: profile learn modes, or profile learn counters`, EXIT.usage);
  };
}

const LONGEST_TEST_H = 24;

function testCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const draft = openDraft(values);
    const profile = profileOfDraft(draft);
    const trace = textOption(values, "trace");
    const for_ms = lengthOption({ for: TEST_FOR, ...values }, "for", LONGEST_TEST_H) ?? 0;
    const polls =
      trace === undefined
        ? await pollLive({ tools, link: deviceLink(values, profile.protocol), io }, profile, for_ms)
        : pollTrace(trace, modbusAlone(profile));
    const judgement = judge(profile, polls);
    print(call, { file: draft.path, ...judgement }, () => judgementText(profile, judgement, styleOf(io)));
    return judgement.ok ? EXIT.ok : EXIT.failed;
  };
}

function modbusAlone(profile: Profile) {
  if (profile.protocol === "modbus") return profile;
  throw new CommandError(say("workshop.trace_modbus"), EXIT.usage);
}

const VERDICTS = { ok: "OK", look: say("test.look"), wrong: say("test.wrong") } as const;

function judgementText({ name, version }: Profile, { tags, modes, ok }: Judgement, style: Style): string {
  const rows = tags.map(({ tag, value, unit, reads, verdict, why }) => [
    VERDICTS[verdict],
    tag,
    value === null ? "-" : String(value),
    unit,
    reads,
    why,
  ]);
  const wrong = tags.filter(({ verdict }) => verdict === "wrong").length;
  const looks = tags.filter(({ verdict }) => verdict === "look").length;
  const result = ok
    ? style.good(say("workshop.reads_right"))
    : style.bad(say("workshop.wrong", { wrong, tags: tags.length }));
  return linesText([
    `${name} ${version}`,
    tableText(
      [say("test.verdict"), say("test.tag"), say("test.value"), say("test.unit"), say("test.reads"), ""],
      rows,
    ).trimEnd(),
    ...modes.map(({ raw, mode, reads }) => say("test.mode", { raw, mode: mode ?? say("test.not_mapped"), reads })),
    `${result}${looks === 0 ? "" : `; ${say("test.look_at", { count: looks })}`}`,
  ]);
}
