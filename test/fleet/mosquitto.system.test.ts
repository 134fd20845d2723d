// Needs Debian packages: mosquitto, postgresql-15.
import { ofTest } from "../support/temporary.ts";
import { brokerFleet } from "./broker-fleet.ts";
import { mosquittoPart } from "./parts.ts";

brokerFleet({
  name: "mosquitto 2.0",
  async make(folder) {
    const broker = await mosquittoPart(folder, "broker", ofTest);
    await broker.start();
    return { ...broker, service: { url: broker.url.replace("//", "//service@"), password: "any" } };
  },
  way: "shared",
});
