import { SerialPort } from "serialport";
import { type FaultCounts, type Faults, noCounts, noFaults, seededSequence } from "./faults.ts";
import { pipe } from "./pipe.ts";

interface SerialProxyOptions {
  /** The proxy's ends of two pty pairs: towards the master, and towards the devices. */
  readonly master: string;
  readonly devices: string;
  readonly seed?: number;
  readonly faults?: Partial<Faults>;
}

/** A serial line with noise, echoes and half frames. */
interface SerialProxy {
  /** May be changed at any time; `refuse` and `reset` mean nothing here. */
  readonly faults: Faults;
  readonly counts: Readonly<FaultCounts>;
  close(): Promise<void>;
}

/** Rejects with the system's error when a port can't be opened. */
export async function serialProxy(options: SerialProxyOptions): Promise<SerialProxy> {
  const faults: Faults = { ...noFaults(), ...options.faults };
  const counts = noCounts();
  const spoiler = { faults, counts, random: seededSequence(options.seed ?? 1) };
  const over = new AbortController();
  const [master, devices] = await Promise.all([opened(options.master), opened(options.devices)]);
  const line = { spoiler, reset: () => undefined, over: over.signal };
  master.on("data", pipe({ ...line, way: "requests", from: master, to: devices }));
  devices.on("data", pipe({ ...line, way: "answers", from: devices, to: master }));
  return {
    faults,
    counts,
    close: async () => {
      over.abort();
      await Promise.all([closed(master), closed(devices)]);
    },
  };
}

async function opened(path: string): Promise<SerialPort> {
  const port = new SerialPort({ path, baudRate: 19_200, autoOpen: false });
  await new Promise<void>((resolve, reject) => port.open((error) => (error === null ? resolve() : reject(error))));
  port.on("error", () => undefined); // a pty pair that ends is the end of the play
  return port;
}

async function closed(port: SerialPort): Promise<void> {
  if (port.isOpen) await new Promise<void>((resolve) => port.close(() => resolve()));
}
