import { it } from "vitest";
import { staysAwake } from "./long-silence.ts";

it("a day without PLC and service causes no restart: the service manager hears a beat in time throughout", () =>
  staysAwake(1));
