import { ConfigError } from "../../../src/config/config-error.ts";
import { parseConfig } from "../../../src/config/config.ts";
import { parseProfile } from "../../../src/config/profile.ts";
import type { Config } from "../../../src/config/port.ts";
import type { Profile } from "../../../src/domain/profile.ts";
import { parseTrace, TraceError } from "../../../simulators/plc/replay/trace-file.ts";
import type { Judge, Target } from "../target.ts";

const FILE = "input.yaml";

/** Judges a file: it is valid, or rejected with a position and a readable reason. */
function yamlJudge<T>(parse: (text: string, file: string) => T, problemOf: (value: T) => string | null): Judge {
  return (input) => {
    const text = input.toString("utf8");
    try {
      const problem = problemOf(parse(text, FILE));
      return problem === null ? "taken" : { wrong: problem };
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return refusal(error, text);
    }
  };
}

function refusal({ problems, message }: ConfigError, text: string): ReturnType<Judge> {
  const lines = text.split(/\r\n|\r|\n/).length;
  const lost = problems.filter(({ line, message: why }) => !(line >= 0 && line <= lines) || why === "");
  if (problems.length === 0 || lost.length > 0) return { wrong: `a refusal without a place: ${message.slice(0, 500)}` };
  return message.includes(FILE) ? "refused" : { wrong: `a refusal without its file: ${message.slice(0, 500)}` };
}

const isPositive = (value: number | undefined): boolean => value === undefined || (Number.isFinite(value) && value > 0);

function configProblem({ booths, commit_interval_ms, page }: Config): string | null {
  const ids = new Set(booths.map(({ id }) => id));
  if (ids.size !== booths.length) return "two booths of one name";
  if (!isPositive(commit_interval_ms)) return "a commit interval that is none";
  const ports = [page.port, page.lan_port];
  return ports.every((port) => Number.isInteger(port) && port >= 0 && port < 65_536) ? null : "a port that is none";
}

function profileProblem({ tags, groups }: Profile): string | null {
  const names = new Set(tags.map(({ name }) => name));
  if (names.size !== tags.length) return "two tags of one name";
  const intervals = Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms);
  return intervals.every(isPositive) ? null : "a poll interval that is none";
}

const judgeTrace: Judge = (input) => {
  try {
    const { answers, length_ms } = parseTrace(input.toString("utf8"), FILE);
    const odd = answers.filter(({ values, span }) => values !== null && values.length !== span.count);
    if (odd.length > 0) return { wrong: "an answer with another number of values than was asked for" };
    return answers.every(({ at_ms }) => at_ms <= length_ms) ? "taken" : { wrong: "an answer after the end" };
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    return error.message.startsWith(`${FILE}:`) ? "refused" : { wrong: `without a place: ${error.message}` };
  }
};

export const config: Target = {
  name: "config",
  format: "text",
  ci_runs: 300,
  open: () => yamlJudge(parseConfig, configProblem),
};
export const profile: Target = {
  name: "profile",
  format: "text",
  ci_runs: 100,
  open: () => yamlJudge(parseProfile, profileProblem),
};
export const trace: Target = { name: "trace", format: "text", ci_runs: 2_000, open: () => judgeTrace };
