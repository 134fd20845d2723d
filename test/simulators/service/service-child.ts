import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { startService } from "../../../simulators/service/start.ts";

/**
 * The reference service as a process that is there to be killed: loaded at once, it opens its database only when told to, so
 * that the next one is ready by the time the one before it is dead.
 */
const [dataDir = ""] = process.argv.slice(2);
// A killed process can't save its compiled code, so it is saved at the start.
flushCompileCache();
await once(process, "message");
const clock = { wall: () => Date.now() };
const { mqttUrl } = await startService({ dataDir, port: 0, mqttPort: 0, adminPort: 0, clock });
process.send?.({ mqttUrl });
