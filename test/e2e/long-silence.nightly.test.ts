import { it } from "vitest";
import { staysAwake } from "./long-silence.ts";

it("30 days without PLC and service cause no restart: the service manager hears a beat in time throughout", () =>
  staysAwake(30));
