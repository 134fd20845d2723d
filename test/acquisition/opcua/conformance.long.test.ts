import { virtualDriver } from "../../../simulators/virtual/driver.ts";
import { never, readGroup } from "../driver-calls.ts";
import { opcuaBed, START } from "./opcua-bed.ts";
import { describeDriver } from "../conformance.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Deadline of each request, with which several requests open a session even on a busy machine. */
const SHORT_ANSWER_MS = 1_000;
const bed = opcuaBed();

describeDriver("OPC UA", () => {
  const { gate, profile, booth, clock, server, make } = bed();
  return {
    gate,
    make: ({ short = false } = {}) =>
      make(short ? { timeouts: { connect_ms: 10_000, answer_ms: SHORT_ANSWER_MS, farewell_ms: 50 } } : {}),
    expected: async (group) => {
      const virtual = virtualDriver({ booth, profile, clock });
      await virtual.open(never);
      return readGroup(virtual, group);
    },
    groups: Object.keys(profile.groups),
    instants: Array.from({ length: 26 }, (_, nth) => START + 5 * nth * MINUTE_MS + 17_123),
    setTime: (at) => clock.set(at),
    refuse: (tag) => {
      server.manners.bad_tags = tag === undefined ? [] : [tag];
    },
  };
});
