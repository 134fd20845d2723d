import modbus from "modbus-serial";
import type { Read } from "./plcs.ts";

/**
 * Reads with modbus-serial over its own connection to each port, one after the other each second, and ignores the
 * answers. The connections are spread over the second. Arguments: ports and reads as JSON.
 */
const [ports = "[]", reads = "[]"] = process.argv.slice(2);

type Client = InstanceType<typeof modbus.default>;

/** A read that is due once in `every` polls. */
export interface RepeatedRead extends Read {
  readonly every: number;
}

const FUNCTIONS: Readonly<Record<number, (client: Client, address: number, count: number) => Promise<unknown>>> = {
  1: (client, address, count) => client.readCoils(address, count),
  2: (client, address, count) => client.readDiscreteInputs(address, count),
  3: (client, address, count) => client.readHoldingRegisters(address, count),
  4: (client, address, count) => client.readInputRegisters(address, count),
};

async function connected(port: number): Promise<Client> {
  const client = new modbus.default();
  await client.connectTCP("127.0.0.1", { port });
  client.setID(1);
  client.setTimeout(5_000);
  return client;
}

// The benchmark writes both lists.
const all = JSON.parse(reads) as readonly RepeatedRead[];
const targets = JSON.parse(ports) as readonly number[];
const clients = await Promise.all(targets.map(connected));
for (const [nth, client] of clients.entries()) {
  let polls = 0;
  const poll = async (): Promise<void> => {
    polls += 1;
    for (const { fn, address, count, every } of all) {
      if (polls % every === 0) await FUNCTIONS[fn]?.(client, address, count);
    }
  };
  setTimeout(() => setInterval(() => void poll(), 1_000), (1_000 * nth) / clients.length);
}
