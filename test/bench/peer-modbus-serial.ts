import modbus from "modbus-serial";

/**
 * modbus-serial as it comes: asks over so many connections for the same blocks each second, one after the other, and does nothing with
 * the answers. Arguments: port, connections, blocks as JSON.
 */
const [port = "0", connections = "1", blocks = "[]"] = process.argv.slice(2);
// The bench's own words.
const asked = JSON.parse(blocks) as readonly {
  readonly fn: 1 | 2 | 3 | 4;
  readonly address: number;
  readonly count: number;
}[];

type Client = InstanceType<typeof modbus.default>;

const READ = {
  1: (client: Client, address: number, count: number) => client.readCoils(address, count),
  2: (client: Client, address: number, count: number) => client.readDiscreteInputs(address, count),
  3: (client: Client, address: number, count: number) => client.readHoldingRegisters(address, count),
  4: (client: Client, address: number, count: number) => client.readInputRegisters(address, count),
};

for (let connection = 0; connection < Number(connections); connection += 1) {
  const client = new modbus.default();
  await client.connectTCP("127.0.0.1", { port: Number(port) });
  client.setID(1);
  client.setTimeout(5_000);
  const poll = async (): Promise<void> => {
    for (const { fn, address, count } of asked) await READ[fn](client, address, count);
  };
  setInterval(() => void poll(), 1_000);
}
