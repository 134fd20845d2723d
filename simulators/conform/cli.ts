import { exec } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs, promisify } from "node:util";
import { errorMessage } from "../../src/domain/error-message.ts";
import { brokerText, measureBroker } from "./broker.ts";
import { countOf, htmlOf, junitOf, lineOf, type Report, summaryOf } from "./report.ts";
import { type Level, LEVELS, type Outcome } from "./requirement.ts";
import { conform } from "./run.ts";

const HELP = `booth-sim conform: tests a service for booths, or a broker, against the contract.

  booth-sim conform URL --key KEY --serial SERIAL [--level L]

The kit plays a gateway and a user. It claims the booth SERIAL, sends records, and releases and takes over its binding: use a test booth
that no gateway holds. It changes nothing else.

  --level L         document: operations of the interface document; provisioning: also claims and reports; full (default): also records
  --key KEY         API key of scope admin; default: $CONFORM_KEY
  --user-key KEY    API key of a person who isn't an admin, for the answer 403; default: $CONFORM_USER_KEY
  --serial SERIAL   serial number of the test booth
  --mqtt URL        the broker's URL, if it differs from mqtt.url of the provisioning record
  --timeout-ms N    longest wait for an answer (default 5000)
  --verbose         show the exchanges of passed checks too
  --junit FILE      write the report as JUnit XML
  --html FILE       write the report as an HTML page
  --help            show this help

  booth-sim conform --broker URL [--kill COMMAND --start COMMAND]

Sends numbered messages through a broker and counts what it loses, doubles or reorders under reconnects, and, with the two commands of the
shell, when it is killed and started again. Then lists the features that it has.

Exit code: 0 all passed or not supported, 1 a check failed, 2 wrong arguments.`;

const OPTIONS = {
  level: { type: "string", default: "full" },
  key: { type: "string" },
  "user-key": { type: "string" },
  serial: { type: "string" },
  mqtt: { type: "string", default: "" },
  "timeout-ms": { type: "string", default: "5000" },
  verbose: { type: "boolean", default: false },
  junit: { type: "string" },
  html: { type: "string" },
  broker: { type: "string" },
  kill: { type: "string" },
  start: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

interface CommandIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  readonly signal: AbortSignal;
}

function parse(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
}

type Parsed = ReturnType<typeof parse>;

/** Runs the kit. Returns the exit code. */
export async function conformCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  let parsed: Parsed;
  try {
    parsed = parse(argv);
    const { help, broker, kill, start } = parsed.values;
    if ((kill === undefined) !== (start === undefined)) throw new Error("--kill and --start need each other");
    if (!help && broker === undefined) optionsOf(parsed);
  } catch (error) {
    io.err(`${errorMessage(error)} (see --help)`);
    return 2;
  }
  const { values } = parsed;
  if (values.help) {
    io.out(HELP);
    return 0;
  }
  if (values.broker !== undefined) return brokerCommand({ ...values, broker: values.broker }, io);
  const options = optionsOf(parsed);
  let outcomes: readonly Outcome[];
  try {
    const told = (outcome: Outcome): void => io.out(lineOf(outcome, values.verbose));
    outcomes = await conform({ ...options, signal: io.signal, told });
  } catch (error) {
    io.err(`Nothing answers at ${options.url}: ${errorMessage(error)}. Check the URL, and that the service runs.`);
    return 1;
  }
  const report: Report = { url: options.url, level: options.level, outcomes };
  io.out(summaryOf(report));
  try {
    if (values.junit !== undefined) writeFileSync(values.junit, junitOf(report));
    if (values.html !== undefined) writeFileSync(values.html, htmlOf(report));
  } catch (error) {
    io.err(`The report can't be written: ${errorMessage(error)}. Choose another file.`);
    return 1;
  }
  return countOf(outcomes, "fail") > 0 || io.signal.aborted ? 1 : 0;
}

async function brokerCommand(
  { broker, kill, start }: { readonly broker: string; readonly kill?: string; readonly start?: string },
  io: CommandIo,
): Promise<number> {
  const shell = promisify(exec);
  const restart = async (): Promise<void> => {
    await shell(kill ?? "");
    await shell(start ?? "");
  };
  try {
    const report = await measureBroker({ url: broker, told: io.err, ...(kill === undefined ? {} : { restart }) });
    io.out(brokerText(report));
    return 0;
  } catch (error) {
    io.err(
      `The broker can't be measured: ${errorMessage(error)}. Check the URL, its user and password, and the two commands.`,
    );
    return 1;
  }
}

function optionsOf({ values, positionals }: Parsed) {
  const [url, ...more] = positionals;
  if (url === undefined || more.length > 0) throw new Error("one URL of a service is needed");
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) throw new Error(`${url} is no URL of http: or https:`);
  const level = LEVELS.find((one): one is Level => one === values.level);
  if (level === undefined) throw new Error(`--level must be one of ${LEVELS.join(", ")}`);
  const key = values.key ?? process.env["CONFORM_KEY"] ?? "";
  if (key === "") throw new Error("--key or $CONFORM_KEY is needed");
  if (level !== "document" && values.serial === undefined) throw new Error(`--level ${level} needs --serial`);
  const timeout_ms = Number(values["timeout-ms"]);
  if (!Number.isInteger(timeout_ms) || timeout_ms < 100)
    throw new Error("--timeout-ms must be a number of at least 100");
  return {
    level,
    key,
    timeout_ms,
    url: url.replace(/\/+$/, ""),
    user_key: values["user-key"] ?? process.env["CONFORM_USER_KEY"] ?? "",
    serial: (values.serial ?? "").trim().toUpperCase(),
    broker: values.mqtt,
  };
}
