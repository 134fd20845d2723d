import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

export const wrongSerial: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "wrong-serial",
  title: "busy days of another booth: at lunch of the first day the PLC's serial number changes",
  repeat: "daily",
  beats: BUSY_DAY,
  on_day: { 0: [{ at: "11:40", steps: [{ kind: "identity", identity: { plc_serial: "WXYZ-987-654" } }] }] },
};
