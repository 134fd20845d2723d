import type { NoticeTest } from "../domain/notice.ts";
import { agentOf } from "../tools/agent-client.ts";
import { EXIT, type Run } from "../tools/command.ts";
import { linesText } from "../tools/texts.ts";
import { print } from "./print.ts";

/** A mail server may take three minutes in all. */
const PATIENCE_MS = 190_000;

/** `booth-gateway notify test`: sends a test, and shows what the server said. */
export const notifyCommand: Run = async (call) => {
  const [, name] = call.operands;
  const agent = await agentOf(call);
  const body = name === undefined ? {} : { name };
  const answer = await agent.post<{ readonly notices: readonly NoticeTest[] }>("/notices/test", body, PATIENCE_MS);
  print(call, answer, ({ notices }) => linesText(notices.flatMap(testLines)));
  return answer.notices.every(({ outcome }) => outcome.kind === "taken") ? EXIT.ok : EXIT.failed;
};

function testLines({ name, kind, where, outcome }: NoticeTest): readonly string[] {
  const head = `${name}  ${kind} to ${where}`;
  if (outcome.kind === "taken") return [`${head}: taken: ${outcome.answer}`];
  const state = outcome.kind === "unknown" ? "NOT CONFIRMED" : "NOT TAKEN";
  return [`${head}: ${state}: ${outcome.reason}`, `  advice  ${outcome.advice}`];
}
