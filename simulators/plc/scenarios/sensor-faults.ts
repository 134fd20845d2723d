import { BUSY_DAY, type Scenario } from "../model/scenario.ts";

export const sensorFaults: Scenario = {
  tz: "America/Denver",
  outdoor_c: 10,
  name: "sensor-faults",
  title: "busy days; on the first one sensor after the other is stuck, not a number, or out of range",
  repeat: "daily",
  beats: BUSY_DAY,
  on_day: {
    0: [
      {
        at: "08:20",
        steps: [
          { kind: "sensor", tag: "exhaust_pressure", fault: { kind: "stuck" } },
          { wait_minutes: 60 },
          { kind: "sensor", tag: "exhaust_pressure", fault: null },
          { wait_minutes: 30 },
          { kind: "sensor", tag: "air_temperature", fault: { kind: "value", value: NaN } },
          { wait_minutes: 10 },
          { kind: "sensor", tag: "air_temperature", fault: { kind: "value", value: -32_768 } },
          { wait_minutes: 10 },
          { kind: "sensor", tag: "air_temperature", fault: null },
          { wait_minutes: 120 },
          { kind: "sensor", tag: "fan_speed", fault: { kind: "value", value: 0 } },
          { wait_minutes: 45 },
          { kind: "sensor", tag: "fan_speed", fault: null },
        ],
      },
    ],
  },
};
