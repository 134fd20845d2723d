import { agentFamily } from "./agent.ts";
import { drainingFamily, pageFamily, sharedFamily } from "./busy.ts";
import { deriveFamily } from "./derive.ts";
import { drainFamily } from "./drain.ts";
import type { Family } from "./figure.ts";
import { memoryFamily } from "./memory.ts";
import { modbusFamily } from "./modbus.ts";
import { startFamily } from "./start.ts";
import { storeFamily } from "./store.ts";

export const FAMILIES: readonly Family[] = [
  modbusFamily,
  memoryFamily,
  startFamily,
  agentFamily,
  sharedFamily,
  pageFamily,
  deriveFamily,
  storeFamily,
  drainFamily,
  drainingFamily,
];

/** families.ts NAME [--quick]: measures one family and sends its figures to the process that started this one. */
const [name, flag] = process.argv.slice(2);
if (process.send !== undefined && name !== undefined) {
  const figures = await FAMILIES.find((family) => family.name === name)?.run({ quick: flag === "--quick" });
  // In JSON, NaN is null.
  process.send(figures, () => process.exit());
}
