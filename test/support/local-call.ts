import { bodyReader } from "../../src/api/answer.ts";
import { type LocalAnswer, Refusal } from "../../src/api/operation.ts";
import { operationNamed } from "../../src/api/operations.ts";
import type { FilterLabels } from "../../src/api/filter-labels.ts";
import type { AgentControl } from "../../src/domain/agent-control.ts";

type Plain = Extract<LocalAnswer, { readonly status: number }>;

interface LocalCall {
  readonly control: AgentControl;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Labels of filter changes; absent: operations that need them answer 501. */
  readonly filter_labels?: FilterLabels;
}

/**
 * Returns a control of the agent's local API by its name; a Refusal becomes its answer. It uses no socket, so that
 * virtual time can run.
 */
export async function localControl(name: string): Promise<(call: LocalCall) => Promise<Plain>> {
  const operation = operationNamed(name);
  if (operation?.runs.kind !== "control") throw new Error(`${name} is no control`);
  const act = await operation.runs.load();
  const read = await bodyReader(operation.body);
  const feed = { attach: () => false, close: () => undefined };
  const common = {
    channel: "socket",
    sender: "",
    device: "",
    token: undefined,
    params: {},
    feed,
    sees_all: () => true,
  } as const;
  return async ({ control, query = {}, body, ...parts }) => {
    const text = body === undefined ? "" : JSON.stringify(body);
    try {
      const answer = await act({ ...common, query, body: () => read(text) as never }, { control, ...parts });
      if ("writes" in answer) throw new Error(`${name} is a stream`);
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, body: { error: error.message } };
    }
  };
}

export async function localCall(name: string, call: LocalCall): Promise<Plain> {
  return (await localControl(name))(call);
}
