import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { plcSite } from "../support/plc-site.ts";

const probe = (...argv: readonly string[]) => runProgram(GATEWAY, ["probe", ...argv]);

/** A server on loopback that isn't a PLC. */
async function otherServer(greet: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    greet(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("booth-gateway probe", { timeout: MANY_PROCESSES_MS }, () => {
  it("tells units, identification, connections and round trip of a PLC, and closes what it opened", async () => {
    const site = await plcSite();
    const { code, out, err } = await probe(`127.0.0.1:${site.plc.port}`);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(`Modbus TCP at 127.0.0.1:${site.plc.port}: answers`);
    expect(out).toContain("unit ids        1, 0, 255, 2, 3, 4, 5, 6, 7, 8, 9, 10");
    expect(out).toContain("identification  vendor: CLICK-like");
    expect(out).toContain("product code: click-booth");
    expect(out).toContain("product: CLICK-like booth controller");
    expect(out).toContain("4 or more at once");
    expect(out).toMatch(/round trip +\d+(\.\d+)? ms, median of 10/);
    expect(site.plc.counts).toMatchObject({ writes: 0, malformed: 0 });
  });

  it("puts an identification together that comes in several answers", async () => {
    const site = await plcSite({ manners: { identification_bytes: 20 } });
    const { code, out } = await probe(`127.0.0.1:${site.plc.port}`, "--units", "1", "--json");
    expect(code).toBe(0);
    const { modbus } = JSON.parse(out) as { modbus: { identification: { id: number; text: string }[] } };
    expect(modbus.identification.map(({ id }) => id)).toEqual([0, 1, 2, 4, 5]);
  });

  it("counts the connections that a PLC takes at once, and does without an identification", async () => {
    const site = await plcSite({ manners: { max_connections: 2, identification_bytes: null } });
    const { code, out } = await probe(`127.0.0.1:${site.plc.port}`, "--units", "1", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ modbus: { connections: 2, connections_tried: 3, identification: null } });
  });

  it("says that a PLC is silent, that none listens, and that it isn't Modbus, with 69", async () => {
    const silent = await plcSite({ manners: { drop_answers: true } });
    const nobody = await probe(`127.0.0.1:${silent.plc.port}`, "--units", "1");
    expect(nobody).toMatchObject({ code: 69, err: "" });
    expect(nobody.out).toContain("It connects, and then it is silent. None of the unit ids 1 answers");
    await silent.plc.offline();
    const refused = await probe(`127.0.0.1:${silent.plc.port}`);
    expect(refused).toMatchObject({ code: 69, err: "" });
    expect(refused.out).toContain("no. Refused: the machine is there but nothing listens at that port");
    const port = await otherServer((socket) => socket.once("data", () => socket.write("220 mail.example ready\r\n")));
    const mail = await probe(`127.0.0.1:${port}`);
    expect(mail).toMatchObject({ code: 69, err: "" });
    expect(mail.out).toContain("no. Something answers that isn't Modbus TCP");
  });

  it("tells a gateway without a device behind it, and one whose only connection is taken", async () => {
    const gateway = await plcSite({ manners: { exception: 11 } });
    const behind = await probe(`127.0.0.1:${gateway.plc.port}`, "--units", "1,2");
    expect(behind.code).toBe(69);
    expect(behind.out).toContain(
      "None of the unit ids 1, 2 answers: a Modbus gateway is there, but no device behind it",
    );
    const taken = await plcSite({ manners: { max_connections: 0 } });
    const held = await probe(`127.0.0.1:${taken.plc.port}`);
    expect(held.code).toBe(69);
    expect(held.out).toContain("another master (an HMI, a programmer) may hold the only one");
  });

  it("refuses what is no address and no unit id, with 2", async () => {
    expect(await probe("127.0.0.1:99999")).toMatchObject({ code: 2, out: "" });
    expect(await probe("127.0.0.1", "--units", "1,300")).toMatchObject({ code: 2, out: "" });
    expect(await probe()).toMatchObject({ code: 2, out: "" });
  });
});
