/** A process that writes to a port of the bench at each beat, and does nothing else. Told: the port, and the beat in ms. */
import { connect } from "node:net";

const [port = 0, beat_ms = 0] = process.argv.slice(2).map(Number);
const socket = connect({ host: "127.0.0.1", port, noDelay: true });
socket.on("close", () => process.exit());
let due = performance.now();
const beat = (): void => {
  socket.write(".");
  // The rhythm is kept, as a poll's is.
  due += beat_ms * Math.max(1, Math.ceil((performance.now() - due) / beat_ms));
  setTimeout(beat, due - performance.now());
};
socket.on("connect", beat);
