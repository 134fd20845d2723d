import Database from "better-sqlite3";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { ask, boothOnce, openPage, runningAgent, sessionAt } from "./box-http.ts";
import { crowdOf } from "./crowd.ts";
import { recordFault } from "../support/faults.ts";
import { hostileRequest, UNENDED } from "./hostile-box.ts";
import { sendRaw } from "../support/raw-http.ts";
import { run } from "../../simulators/service/storage/db.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { seedOf } from "../support/seed.ts";

/** Each has an address of its own: one address is answered 500 times a second at most. */
const AT_ONCE = 8;
const CROWDED = "127.0.0.99";
const CROWD = 200;
const PLC_PASSWORDS = ["plc-password-before", "plc-password-after"];

/** Sends hostile requests to a real agent's page, then checks answers, log, polls and files. */
export async function attackBox(count: number, file: string): Promise<void> {
  const site = await realSite({ speed: 10, serial: SERIAL });
  run(site.service.db, "UPDATE booths SET old_password = ?, new_password = ?", ...PLC_PASSWORDS);
  const agent = await runningAgent(site);
  await boothOnce(site, "the booth is bound", ({ provisioning }) => provisioning.state === "active");
  const { url, pin } = await openPage(site, { for_ms: 12 * 3_600_000 });
  const session = await sessionAt(url ?? "", pin);
  const secrets = [site.provisionKey, credentialIn(site.dataDir)];
  const planted = [...secrets, ...PLC_PASSWORDS, pin, pin.replace(" ", ""), session];
  const before = await pollsOf(url ?? "");

  const seen = await attack(Number(new URL(url ?? "").port), { count, session, file, planted });
  process.stdout.write(`${count} hostile requests: ${JSON.stringify(seen.by_status)}\n`);
  expect(seen.hoarded).toBeLessThan(CROWD / 4);
  // Any 5xx is a failure of the agent, except 501, and 503 for too many requests.
  const ours = Object.entries(seen.by_status).filter(
    ([status]) => /^5/.test(status) && !["501", "503"].includes(status),
  );
  expect(Object.values(seen.by_status).reduce((sum, times) => sum + times, 0)).toBe(count);
  expect(agent.isRunning()).toBe(true);

  const after = await pollsOf(url ?? "");
  expect(after.answered).toBeGreaterThan(before.answered);
  const lost = after.failed - before.failed;
  const helped = await ask(`${url ?? ""}/api/help`, { method: "POST", key: session, body: { subject: "s" } });
  expect(helped.status).toBe(201);
  const told = [
    ...["/status", "/log", "/support.json", "/metrics", "/api/booths", `/api/booths_provisioning/${SERIAL}`].map(
      (path) => ask(`${url ?? ""}${path}`, { key: session }).then(({ text }) => text),
    ),
  ];
  const texts = [...(await Promise.all(told)), agent.out(), agent.err(), ...reportsIn(join(site.dataDir, "help"))];
  expect(texts.every((text) => text !== "" || text === agent.err())).toBe(true);
  const told_after = planted.filter((secret) => texts.some((text) => text.includes(secret)));
  const leaks = [...seen.leaks, ...told_after];
  const wrong = leaks.length + ours.reduce((sum, [, times]) => sum + times, 0);
  const row = { row: 45, fault: `${count} hostile requests to the local server` };
  recordFault({ ...row, injected: count, lost, doubled: 0, wrong, passed: lost + wrong === 0 });
  expect({ leaks, ours, lost }).toEqual({ leaks: [], ours: [], lost: 0 });
}

interface Attack {
  readonly count: number;
  readonly session: string;
  readonly file: string;
  readonly planted: readonly string[];
}

async function attack(port: number, { count, session, file, planted }: Attack) {
  const random = seededRandom(seedOf(file));
  const by_status: Record<string, number> = {};
  const leaks: string[] = [];
  let left = count;
  const worker = async (from: string): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const bytes = hostileRequest(random, session);
      const { status, head, body } = await answerTo(port, bytes, from);
      by_status[status] = (by_status[status] ?? 0) + 1;
      const leaked = planted.filter((secret) => `${head}${body}`.includes(secret));
      if (leaked.length > 0) leaks.push(`${leaked.join(", ")} in the answer to ${bytes.subarray(0, 200).toString()}`);
    }
  };
  // One sender keeps every connection it gets; all others must still be served.
  const crowd = await crowdOf(port, { from: CROWDED, count: CROWD });
  const unended = UNENDED.map((text) => sendRaw(port, Buffer.from(text)));
  await Promise.all([...unended, ...Array.from({ length: AT_ONCE }, (_, index) => worker(`127.0.0.${index + 2}`))]);
  const hoarded = crowd.open();
  crowd.close();
  return { by_status, leaks, hoarded };
}

/** Repeats a request that was rejected by the rate limit, so that its real answer is counted. */
async function answerTo(port: number, bytes: Buffer, from: string): Promise<Awaited<ReturnType<typeof sendRaw>>> {
  for (;;) {
    const answer = await sendRaw(port, bytes, from);
    if (answer.status !== 429 || !answer.body.includes("Too many requests")) return answer;
  }
}

function credentialIn(dataDir: string): string {
  const db = new Database(join(dataDir, "identity.db"), { readonly: true });
  const row = db.prepare<[], { readonly credential: string | null }>("SELECT credential FROM gateway").get();
  db.close();
  if (row?.credential === null || row?.credential === undefined) throw new Error("the gateway has no credential");
  return row.credential;
}

async function pollsOf(url: string): Promise<{ readonly answered: number; readonly failed: number }> {
  const { text } = await ask(`${url}/metrics`);
  const value = (outcome: string): number =>
    Number(new RegExp(`polls_total\\{booth="booth-1",outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1]);
  return { answered: value("answered"), failed: value("failed") };
}

function reportsIn(folder: string): string[] {
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
}
