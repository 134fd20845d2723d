import { startService } from "../../simulators/service/start.ts";
import { readClockFile, scaledClock } from "../../simulators/clock.ts";

/** The reference service as a process that is killed and started again, behind a broker that is one of its own. */
const [dataDir = "", port = "0", broker = "", password = "", gatewayUrl = "", clockFile = ""] = process.argv.slice(2);
const clock = scaledClock(readClockFile(clockFile));
const running = await startService({
  dataDir,
  port: Number(port),
  mqttPort: 0,
  adminPort: 0,
  broker: { urls: [broker], password },
  clock,
});
Object.assign(running.service, { mqttUrl: () => gatewayUrl });
process.stdout.write(`ready ${running.adminUrl}\n`);
