/** A device in a process of its own, so that its CPU isn't counted: every register answers 0x1234. Says its port. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

const server = createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (request) => {
    const bytes = request.readUInt16BE(10) * 2;
    const answer = Buffer.alloc(9 + bytes, 0x34);
    request.copy(answer, 0, 0, 8);
    answer.writeUInt16BE(3 + bytes, 4);
    answer.writeUInt8(bytes, 8);
    socket.write(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
