/** The fault matrix: what can happen to a gateway, and what is expected of it then. */

/** A row. Tests enter under its number how many faults they injected and counted (`support/faults.ts`). */
export interface MatrixRow {
  readonly row: number;
  readonly fault: string;
  readonly expected: string;
  /** Only tests of `.ci/nightly` inject the fault; absent: `.ci/run` has a test of it. */
  readonly is_nightly?: true;
}

interface Section {
  readonly title: string;
  readonly rows: readonly MatrixRow[];
}

const PROCESS_AND_DISK: readonly MatrixRow[] = [
  {
    row: 1,
    fault: "agent killed with signal 9 at any moment",
    expected: "runs again in under 3 s, no taken reading lost, no effect twice",
  },
  {
    row: 2,
    fault: "event loop hangs",
    expected: "started anew within WatchdogSec + 2 s; 30 days without PLC and service cause no restart",
  },
  {
    row: 3,
    fault: "power cut",
    expected: "store opens clean, no durable reading lost, of taken ones at most the commit window",
  },
  { row: 4, fault: "last page torn", expected: "as row 3" },
  { row: 5, fault: "bits rot in the database", expected: "quarantined and counted, everything else kept" },
  {
    row: 6,
    fault: "database file gone or replaced",
    expected: "header gone: set aside, salvaged into a new store with a new stream, reported",
  },
  { row: 7, fault: "disk filled by others", expected: "ballast released, said in the status, recovers by itself" },
  {
    row: 8,
    fault: "disk filled by our own backlog",
    expected: "budget kept, oldest detail goes first, facts and totals stay, a gap record names each range",
    is_nightly: true,
  },
  { row: 9, fault: "file system read-only", expected: "goes on polling in bounded memory, says so, recovers" },
  { row: 10, fault: "fsync takes 2 s", expected: "polls are on time" },
  {
    row: 11,
    fault: "memory pressure",
    expected: "stays within its budget; if killed, as row 1",
    is_nightly: true,
  },
];

const PLC: readonly MatrixRow[] = [
  {
    row: 12,
    fault: "PLC is a black hole",
    expected: "deadline, jittered back-off, other booths unaffected, back within 5 s of its return",
  },
  { row: 13, fault: "PLC refuses, resets", expected: "as row 12" },
  { row: 14, fault: "cable out for 2 s, for 2 h", expected: "2 s are bridged, 2 h are no data, never idle" },
  { row: 15, fault: "late answers", expected: "never a wrong value, connection renewed, counted" },
  { row: 16, fault: "malformed Modbus", expected: "as row 15" },
  { row: 17, fault: "noise on a serial line", expected: "as row 15" },
  {
    row: 18,
    fault: "exceptions on part of a block",
    expected: "block split, hole learned, the good registers still read in the same poll",
  },
  { row: 19, fault: "counters reset or wrap", expected: "each count booked once, never a negative one" },
  { row: 20, fault: "program or firmware changed", expected: "a revision each, with its time; nothing else changes" },
  { row: 21, fault: "torn 32-bit value", expected: "read again, never a value" },
  { row: 22, fault: "OPC UA server restarts", expected: "resolved anew, goes on" },
  {
    row: 23,
    fault: "OPC UA certificate untrusted, expired, changed; only None on offer",
    expected: "refused with a clear state, no password sent",
    is_nightly: true,
  },
  { row: 24, fault: "huge or endless OPC UA chunks", expected: "given up in bounded memory" },
  {
    row: 47,
    fault: "PLC loses or spoils 1, 5, 10, 20 % of its replies",
    expected: "99, 97, 90, 75 % of the values in time, none wrong; degraded, not up and down",
    is_nightly: true,
  },
];

const SERVICE: readonly MatrixRow[] = [
  { row: 25, fault: "service answers 5xx", expected: "tried again with back-off, nothing lost or done twice" },
  { row: 26, fault: "429 with Retry-After in both forms", expected: "waits at least that long" },
  { row: 27, fault: "time-out after the service applied it", expected: "applied once" },
  { row: 28, fault: "401, 403", expected: "kept, with a state that says which" },
  { row: 29, fault: "one poison record", expected: "found by halving, set aside, declared; the rest delivered" },
  { row: 30, fault: "200 with broken JSON, captive portal", expected: "not believed, tried again" },
  { row: 31, fault: "partial, duplicate, unknown acks", expected: "only an ack with its batch's hash counts" },
  {
    row: 32,
    fault: "outage of 30 days",
    expected: "drained beside live data, each lane in order, the stream ends without a hole",
    is_nightly: true,
  },
  { row: 33, fault: "DNS fails, address changes", expected: "looked up anew" },
  { row: 34, fault: "TLS certificate expired, of another name, of an unknown CA", expected: "refused, a state each" },
  {
    row: 35,
    fault: "broker killed, session lost, same client id twice",
    expected: "nothing lost, no ping-pong, back-off",
  },
  { row: 36, fault: "hostile MQTT packets", expected: "nothing believed, deadlines, bounded memory" },
  {
    row: 46,
    fault: "service or broker that lies for seconds or minutes, in any field of any answer",
    expected: "afterwards all is delivered within a bound; nothing lost or doubled, times right but where marked",
  },
  {
    row: 48,
    fault: "brokers of others (mosquitto, RabbitMQ 3.10, NATS 2.9) killed and restarted",
    expected:
      "back within 15 s of their return after less than a minute, within 65 s after longer; nothing lost or doubled",
  },
];

const TIME_AND_PEOPLE: readonly MatrixRow[] = [
  {
    row: 37,
    fault: "clock a day ahead, a day back, 1970 at boot and NTP later",
    expected: "durations exact, stamps repaired, never negative",
  },
  { row: 38, fault: "uptime over 49.7 days", expected: "as row 37" },
  { row: 39, fault: "key or certificate about to expire", expected: "said 30 days before" },
  {
    row: 40,
    fault: "broken, half-written, unreadable configuration",
    expected: "refused with file, line and reason; the last good one stays in use",
  },
  { row: 41, fault: "upgrade, power cut in it, downgrade by one version", expected: "data kept" },
  {
    row: 42,
    fault: "wrong, foreign, duplicate serial number",
    expected: "nothing bound or taken that isn't this booth's",
  },
  { row: 43, fault: "two gateways claim one booth", expected: "one wins, the others are told" },
  { row: 44, fault: "log flood, journal full", expected: "polls unharmed", is_nightly: true },
  {
    row: 45,
    fault: "hostile input at the local page and API",
    expected: "no crash, no secret told, polls unharmed",
  },
  {
    row: 49,
    fault: "configuration, profile or trace file made to be slow",
    expected: "refused within 1 s with a sentence, SIGTERM heard",
    is_nightly: true,
  },
];

const FLEET: readonly MatrixRow[] = [
  {
    row: 50,
    fault: "part of a fleet's service killed: broker, worker, PostgreSQL, HTTP, figures",
    expected: "every acked record lies in PostgreSQL once, with the content that was recorded",
    is_nightly: true,
  },
  {
    row: 51,
    fault: "SIGTERM of a role of the service under load",
    expected: "exit 0; what it had under way is committed and acked, no gateway waits for an ack in vain",
  },
  {
    row: 52,
    fault: "PostgreSQL stopped, slow (100 ms a commit), its disk full",
    expected: "nothing is acked that isn't committed; all is drained afterwards, once",
    is_nightly: true,
  },
  {
    row: 53,
    fault: "PostgreSQL restored from an older backup",
    expected: "what it lacks is asked again; nothing wrong is kept",
    is_nightly: true,
  },
  {
    row: 54,
    fault: "late will of an older session",
    expected: "a gateway that is back isn't shown as away",
    is_nightly: true,
  },
];

export const SECTIONS: readonly Section[] = [
  { title: "Process and disk", rows: PROCESS_AND_DISK },
  { title: "PLC", rows: PLC },
  { title: "Service", rows: SERVICE },
  { title: "Time, software, people", rows: TIME_AND_PEOPLE },
  { title: "A fleet's service", rows: FLEET },
];

export const MATRIX: readonly MatrixRow[] = SECTIONS.flatMap(({ rows }) => rows);
