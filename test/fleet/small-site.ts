import { placeFleet, ranLine } from "../../simulators/fleet/cli.ts";
import { lookInto } from "../../simulators/fleet/look.ts";
import type { Account } from "../../simulators/fleet/account.ts";
import { type RanFleet, runFleet } from "../../simulators/fleet/fleet.ts";
import { ofTest } from "../support/temporary.ts";
import type { BrokerProcess } from "../system/broker-outages.ts";
import { freePort } from "../system/mosquitto.ts";
import { mosquittoPart, postgresPart, type ServicePart, servicePart } from "./parts.ts";

const ADMIN_KEY = "fleet-admin";

/** PostgreSQL, two workers and HTTP over one broker, for up to a hundred gateways. All parts end with the test. */
export interface SmallSite {
  readonly postgres: Awaited<ReturnType<typeof postgresPart>>;
  readonly workers: readonly ServicePart[];
  readonly http: ServicePart;
  readonly url: string;
  /** Starts another process of the service. */
  readonly role: (name: string, argv: readonly string[]) => Promise<ServicePart>;
}

type Service = BrokerProcess["service"];

export async function smallSite(
  folder: string,
  { gateways, broker }: { readonly gateways: number; readonly broker: Service },
): Promise<SmallSite> {
  const postgres = await postgresPart(folder, ofTest);
  await postgres.start();
  placeFleet(postgres.url, gateways, ADMIN_KEY);
  const port = (await freePort()).toString();
  const store = ["--store", postgres.url];
  const own = { atEnd: ofTest, env: { BROKER_PASSWORD: broker.password } };
  const role = async (name: string, argv: readonly string[]): Promise<ServicePart> => {
    const brokers = argv.includes("figures") ? [] : ["--broker", broker.url];
    const part = servicePart(name, [...argv, ...store, ...brokers], own);
    await part.start();
    return part;
  };
  const [http, ...workers] = await Promise.all([
    role("http", ["--role", "http", "--port", port]),
    ...["ingest-1", "ingest-2"].map((name) => role(name, ["--role", "ingest"])),
  ]);
  return {
    postgres,
    workers,
    http,
    role,
    url: `http://127.0.0.1:${port}`,
  };
}

type SmallRide = Omit<Parameters<typeof runFleet>[0], "url" | "key" | "booths_per" | "told">;

/** Plays a fleet of one booth per gateway at the site, then compares every booth's records with the database. */
export async function rideSmall(
  { postgres, url }: SmallSite,
  ride: SmallRide,
): Promise<{ readonly account: Account; readonly ran: RanFleet }> {
  const ran = await runFleet({ ...ride, url, key: ADMIN_KEY, booths_per: 1, told: () => undefined });
  const look = await lookInto(postgres.url);
  try {
    const account = await ran.account(look, 1);
    process.stdout.write(`${JSON.stringify(account)}; ${ranLine(ran)}\n`);
    return { account, ran };
  } finally {
    await look.close();
  }
}

/** Starts a mosquitto for the test, as the service expects it. */
export async function smallBroker(folder: string): Promise<Pick<BrokerProcess, "service" | "kill" | "start">> {
  const broker = await mosquittoPart(folder, "broker", ofTest);
  await broker.start();
  return { ...broker, service: { url: broker.url.replace("//", "//service@"), password: "any" } };
}
