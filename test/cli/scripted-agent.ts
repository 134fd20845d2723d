import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

/** The status of an agent without booths. */
export const EMPTY_STATUS = {
  agent_version: "0",
  gateway_id: "gateway",
  at: 60_000,
  started_at: 0,
  boot: "boot",
  clock: { synced: true, offset_ms: 0 },
  lacks: [],
  outputs: [],
  notices: [],
  shared: [],
  certificates: [],
  booths: [],
  disabled: [],
  needs_restart: [],
  config_refused: null,
  loss_window_ms: 10_000,
  service: { kind: "up", since: 0, url: "https://service.example", broker_url: null },
};

/** Starts a server that answers as an agent, by path. Returns its runtime folder. */
export async function scriptedAgent(answerTo: (path: string) => unknown): Promise<string> {
  const folder = temporaryFolder();
  const server = createServer(({ url = "" }, answer) => answer.end(JSON.stringify(answerTo(url))));
  await new Promise<void>((resolve) => server.listen(join(folder, "agent.sock"), resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return folder;
}
