import type * as serialport from "serialport";

import { LinkError, type LinkErrorKind } from "../../domain/link-error.ts";
import type { SerialSettings } from "../../config/port.ts";
import type { OpenWire, WireEvents } from "./wire.ts";

/** By the texts of serialport, which keeps no error codes: no such port, no right to it, another program has it. */
const REFUSALS: readonly (readonly [RegExp, string])[] = [
  [/no such file/i, "there is no such serial port"],
  [/permission denied|EACCES/i, "no right to open the serial port (group dialout)"],
  [/cannot lock|busy|EBUSY/i, "another program has the serial port"],
];

/** Ports of ours that are being closed: the system keeps its lock until that is done. */
const closing = new Map<string, Promise<void>>();

function close(port: serialport.SerialPort): void {
  const { path } = port;
  const done = new Promise<void>((resolve) => {
    port.close(() => {
      resolve();
      if (closing.get(path) === done) closing.delete(path);
    });
  });
  closing.set(path, done);
}

/** A serial line. The native part is loaded only where a booth uses it. Bytes that came before it was opened are dropped. */
export function serialWire(settings: SerialSettings): OpenWire {
  return (events) => {
    const state: { port: serialport.SerialPort | null; over: boolean } = { port: null, over: false };
    const down = (kind: LinkErrorKind, text: string, cause?: unknown): void => {
      if (state.over) return;
      state.over = true;
      if (state.port?.isOpen === true) close(state.port);
      events.down(new LinkError(kind, `${settings.path}: ${text}`, cause));
    };
    void open(settings, { state, events, down });
    return {
      write: (bytes) => void state.port?.write(bytes),
      destroy: () => {
        state.over = true;
        if (state.port?.isOpen === true) close(state.port);
      },
    };
  };
}

interface Opening {
  readonly state: { port: serialport.SerialPort | null; over: boolean };
  readonly events: WireEvents;
  readonly down: (kind: LinkErrorKind, text: string, cause?: unknown) => void;
}

async function open(settings: SerialSettings, { state, events, down }: Opening): Promise<void> {
  const library = await load().catch((cause: unknown) => {
    down("config", "serial ports can't be used on this machine: the package serialport doesn't load", cause);
    return null;
  });
  await closing.get(settings.path);
  if (library === null || state.over) return;
  const { path, baud_rate, data_bits, parity, stop_bits } = settings;
  const port = new library.SerialPort({
    path,
    baudRate: baud_rate,
    dataBits: data_bits,
    parity,
    stopBits: stop_bits,
    autoOpen: false,
  });
  state.port = port;
  port.on("data", (bytes: Buffer) => {
    if (!state.over) events.data(bytes, bytes.length);
  });
  port.on("error", (cause) => down("reset", cause.message, cause));
  port.on("close", () => down("closed", "the serial port is gone"));
  port.open((cause) => {
    if (cause !== null) {
      const known = REFUSALS.find(([pattern]) => pattern.test(cause.message));
      down("refused", known?.[1] ?? cause.message, cause);
    } else if (state.over) {
      close(port);
    } else {
      port.flush(() => (state.over ? undefined : events.connected()));
    }
  });
}

function load(): Promise<typeof serialport> {
  return import("serialport");
}
