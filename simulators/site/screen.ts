import type { SeenStatus } from "./agent-process.ts";

/** The site's output: a line for each event, and on a terminal a live line below them. */
export interface Screen {
  /** `at`: simulated epoch ms. */
  line(at: number, who: string, text: string): void;
  plain(text: string): void;
  status(status: SeenStatus): void;
  /** Keeps the live line as the last output. */
  end(): void;
}

export interface ScreenOptions {
  readonly out: { write(text: string): unknown; readonly isTTY?: boolean; readonly columns?: number };
  readonly tz: string;
}

export function createScreen({ out, tz }: ScreenOptions): Screen {
  const time = new Intl.DateTimeFormat("en-GB", {
    timeZone: tz,
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  });
  const isLive = out.isTTY === true;
  const began = performance.now();
  /** Real time since the start, which shows the duration of each step. */
  const since = (): string => `+${((performance.now() - began) / 1000).toFixed(1)} s`.padStart(9);
  let live = "";
  let said = "";
  const clear = (): void => {
    if (live !== "") out.write("\r\x1b[K");
  };
  const print = (text: string): void => {
    clear();
    out.write(`${text}\n`);
    out.write(live);
  };
  return {
    line: (at, who, text) => print(`${since()}  ${time.format(at)}  ${who.padEnd(8)} ${text}`),
    plain: print,
    status(status) {
      if (isLive) {
        clear();
        live = statusLine(status, time).slice(0, (out.columns ?? 120) - 1);
        out.write(live);
        return;
      }
      const change = changeLine(status);
      if (change === "" || change === said) return;
      said = change;
      print(`${since()}  ${time.format(status.at)}  ${"status".padEnd(8)} ${change}`);
    },
    end() {
      if (live !== "") out.write("\n");
      live = "";
    },
  };
}

function statusLine(status: SeenStatus, time: Intl.DateTimeFormat): string {
  const parts = status.booths.map((booth) => {
    const { now, log } = booth;
    const mode =
      now === null
        ? "no reading yet"
        : `${now.mode}${now.since === null ? "" : ` for ${lasting(status.at - now.since)}`}`;
    const counts = `${(now?.cycles_today ?? 0).toString()} cycles today | ${log.newest_seq} logged, ${log.acked_seq} acked`;
    return `${booth.booth}: ${mode} | ${counts} | PLC ${booth.plc.kind}`;
  });
  return `${time.format(status.at)}  ${parts.join(" || ")}, service ${status.service.kind}`;
}

/** Returns the state without its counts. Without a terminal only changes are printed, and counts always change. */
function changeLine(status: SeenStatus): string {
  return status.booths
    .map(({ booth, now, plc }) => {
      if (now === null) return "";
      return `${booth}: ${now.mode}, ${now.cycles_today} cycles today; PLC ${plc.kind}, service ${status.service.kind}`;
    })
    .filter((text) => text !== "")
    .join(" || ");
}

function lasting(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
