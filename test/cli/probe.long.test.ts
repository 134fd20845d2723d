import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";

const probe = (...argv: readonly string[]) => runProgram(GATEWAY, ["probe", ...argv]);

/** Starts a server that isn't a PLC. Returns its port. */
async function otherServer(greet: (socket: Socket, server: Server) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    greet(socket, server);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/**
 * Starts a PLC that answers reads and closes the connection at any other request, as some servers made with libmodbus do. `ends`: it
 * accepts no connection afterwards. Returns its port.
 */
function closingPlc(ends: boolean, isKnown: (unit: number) => boolean = () => true): Promise<number> {
  return otherServer((socket, server) => {
    socket.on("data", (frame) => {
      const unit = frame.readUInt8(6);
      const code = frame.readUInt8(7);
      if (code === 3 && isKnown(unit)) {
        const answer = Buffer.from([0, 0, 0, 0, 0, 5, unit, code, 2, 0x12, 0x34]);
        frame.copy(answer, 0, 0, 2);
        socket.write(answer);
        return;
      }
      socket.destroy();
      if (ends) server.close();
    });
  });
}

describe("the probe command", { timeout: MANY_PROCESSES_MS }, () => {
  it("shows the unit IDs, identification, simultaneous connections and round trip of a PLC", async () => {
    const site = await plcSite();
    const { code, out, err } = await probe(`127.0.0.1:${site.plc.port}`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`Modbus TCP at 127.0.0.1:${site.plc.port}: answers`);
    expect(out).toContain("unit IDs        1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10");
    expect(out).toContain("identification  vendor: CLICK-like");
    expect(out).toContain("product code: click-booth");
    expect(out).toContain("product: CLICK-like booth controller");
    expect(out).toContain("4 or more at once");
    expect(out).toMatch(/round trip +\d+(\.\d+)? ms, median of 10/);
    expect(site.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
  });

  it("joins a device identification that the PLC sends in several answers", async () => {
    const site = await plcSite({ manners: { identification_bytes: 20 } });
    const { code, out } = await probe(`127.0.0.1:${site.plc.port}`, "--units", "1", "--json");
    expect(code).toBe(0);
    const { modbus } = JSON.parse(out) as { modbus: { identification: { id: number; text: string }[] } };
    expect(modbus.identification.map(({ id }) => id)).toEqual([0, 1, 2, 4, 5]);
  });

  it("counts the simultaneous connections of a PLC that has no device identification", async () => {
    const site = await plcSite({ manners: { max_connections: 2, identification_bytes: null } });
    const { code, out } = await probe(`127.0.0.1:${site.plc.port}`, "--units", "1", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ modbus: { connections: 2, connections_tried: 3, identification: null } });
  });

  it.each([
    ["accepts further connections", false],
    ["accepts no connection afterwards", true],
  ])(
    "shows the unit IDs of a PLC that closes the connection when asked for its identification and %s",
    async (_, ends) => {
      const { code, out, err } = await probe(`127.0.0.1:${await closingPlc(ends)}`, "--units", "1,2");
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toContain("unit IDs        1, 2");
      expect(out).toContain("identification  none (the PLC closes the connection at function 43/14");
      expect(out).toContain("4 or more at once");
      expect(out).toMatch(/round trip +\d+(\.\d+)? ms, median of 10/);
    },
  );

  it.each([
    ["accepts further connections", { ends: false, answered: [3, 9], broken: [2, 4] }],
    ["accepts no connection afterwards", { ends: true, answered: [3], broken: [2] }],
  ])(
    "shows the unit IDs of a PLC that closes the connection at an unknown unit ID and %s",
    async (_, { ends, answered, broken }) => {
      const port = await closingPlc(ends, (unit) => unit === 3 || unit === 9);
      const { code, out } = await probe(`127.0.0.1:${port}`, "--units", "3,2,4,9", "--json");
      expect(code).toBe(0);
      const { modbus } = JSON.parse(out) as { modbus: { units: { unit: number; answer: string }[] } };
      const those = (kind: string) => modbus.units.filter(({ answer }) => answer === kind).map(({ unit }) => unit);
      expect([those("answers"), those("breaks_off")]).toEqual([answered, broken]);
      expect(modbus).toMatchObject({ kind: "modbus", round_trip_ms: ends ? null : (expect.any(Number) as number) });
    },
  );

  it("exits with 69 if the PLC is silent, nothing listens on the port, or the server doesn't use Modbus", async () => {
    const silent = await plcSite({ manners: { drop_answers: true } });
    const nobody = await probe(`127.0.0.1:${silent.plc.port}`, "--units", "1");
    expect(nobody).toMatchObject({ code: 69, err: "" });
    expect(nobody.out).toContain("The connection is accepted, but no device with the unit IDs 1 answers");
    await silent.plc.offline();
    const refused = await probe(`127.0.0.1:${silent.plc.port}`);
    expect(refused).toMatchObject({ code: 69, err: "" });
    expect(refused.out).toContain("not available. The connection is refused: nothing listens on this port");
    const port = await otherServer((socket) => socket.once("data", () => socket.write("220 mail.example ready\r\n")));
    const mail = await probe(`127.0.0.1:${port}`);
    expect(mail).toMatchObject({ code: 69, err: "" });
    expect(mail.out).toContain("not available. The answer is not Modbus TCP");
  });

  it("reports a Modbus gateway without a device, and a PLC that accepts no further connection", async () => {
    const gateway = await plcSite({ manners: { exception: 11 } });
    const behind = await probe(`127.0.0.1:${gateway.plc.port}`, "--units", "1,2");
    expect(behind.code).toBe(69);
    expect(behind.out).toContain("A Modbus gateway answers, but no device with the unit IDs 1, 2 answers through it");
    const taken = await plcSite({ manners: { max_connections: 0 } });
    const held = await probe(`127.0.0.1:${taken.plc.port}`);
    expect(held.code).toBe(69);
    expect(held.out).toContain("another master (an HMI, a programming device) may be using its only connection");
  });

  it("exits with 2 for an invalid or missing address, or an invalid unit ID", async () => {
    expect(await probe("127.0.0.1:99999")).toMatchObject({ code: 2, out: "" });
    expect(await probe("127.0.0.1", "--units", "1,300")).toMatchObject({ code: 2, out: "" });
    expect(await probe()).toMatchObject({ code: 2, out: "" });
  });
});
