import type { Fault, OutputCommand, OutputFault } from "../story.ts";
import type { Box } from "../box.ts";
import { CODEC, GROUP, type Plant, sayHost, type Side } from "./plant.ts";

/** The parts that an output's faults change. */
interface Stage {
  box(): Box;
  readonly plant: Plant;
}

/** Time after which the host finds a broker that is back. */
const HOST_AFTER_MS = 5_000;
const USUAL_LATENCY_MS = 20;

/** Starts the fault. Returns a function that ends it; null: it ends by itself. */
export function upsetOutput(stage: Stage, fault: OutputFault): (() => void) | null {
  const side = stage.plant.sides.find(({ output }) => output.name === fault.output);
  if (side === undefined) return null;
  const { clock } = stage.box().site;
  switch (fault.kind) {
    case "output_away":
      return goAway(stage, side, fault.how);
    case "output_cut":
      side.broker.cut_after = fault.after;
      return null;
    case "output_slow":
      side.broker.latency_ms = fault.latency_ms;
      return () => (side.broker.latency_ms = USUAL_LATENCY_MS);
    case "output_closes":
      side.broker.closes_after_confirmation = true;
      return () => (side.broker.closes_after_confirmation = false);
    case "output_host":
      setHost(stage, side, false);
      return () => setHost(stage, side, true);
    case "output_command":
      command(stage, side, fault.command);
      return null;
    case "output_config": {
      const key = fault.how === "absent" ? "is_absent" : "is_without_discovery";
      const put = (value: boolean): void =>
        void stage.box().restart(1_000, () => {
          if (key === "is_absent" && !value) side.put_back.push(clock.truth());
          side[key] = value;
        });
      put(true);
      void clock.sleep(fault.for_ms).then(() => put(false));
      return null;
    }
  }
}

function goAway(stage: Stage, side: Side, how: Extract<Fault, { kind: "output_away" }>["how"]): () => void {
  const { broker } = side;
  broker.set(how === "silent" ? "silent" : "refused");
  if (how === "forgetful") broker.forget();
  return () => comeBack(stage, side);
}

function comeBack(stage: Stage, side: Side): void {
  const { clock } = stage.box().site;
  side.broker.set("open");
  void clock.sleep(HOST_AFTER_MS).then(() => sayHost(side, clock));
}

function setHost(stage: Stage, side: Side, online: boolean): void {
  side.is_host_online = online;
  if (side.broker.way() === "open") sayHost(side, stage.box().site.clock);
}

const REBIRTH = { name: "Node Control/Rebirth", type: "Boolean", value: true };

/** Sends a command to a node that is known only from its topics. */
function command(stage: Stage, { broker, output }: Side, what: OutputCommand): void {
  if (output.kind !== "sparkplug" || broker.way() !== "open") return;
  const birth = broker.events.findLast(
    (event) => event.kind === "message" && event.message.topic.startsWith(`spBv1.0/${GROUP}/NBIRTH/`),
  );
  if (birth?.kind !== "message") return;
  const node = birth.message.topic.split("/").at(-1) ?? "";
  const said = (metrics: readonly object[]): Uint8Array => CODEC.encodePayload({ timestamp: 1, metrics });
  const topic = `spBv1.0/${GROUP}/NCMD/${node}`;
  const publish = (payload: Uint8Array, retain = false): void => broker.publish(topic, payload, retain);
  switch (what) {
    case "rebirth":
      publish(said([REBIRTH]));
      break;
    case "rebirths":
      for (let i = 0; i < 8; i += 1)
        void stage
          .box()
          .site.clock.sleep(i * 20_000)
          .then(() => publish(said([REBIRTH])));
      break;
    case "retained":
      publish(said([REBIRTH]), true);
      break;
    case "garbage":
      publish(Uint8Array.from([0xff, 0xff, 0xff, 0x12, 0x80]));
      break;
    case "oversized":
      publish(said([{ name: "x".repeat(5_000), type: "String", value: "y" }, REBIRTH]));
      break;
    case "other":
      publish(said([REBIRTH, { name: "Outputs/fan", type: "Boolean", value: true }]));
      break;
    case "false":
      publish(said([{ ...REBIRTH, value: false }]));
      break;
    case "device":
      broker.publish(`spBv1.0/${GROUP}/DCMD/${node}/booth-1`, said([REBIRTH]), false);
      break;
  }
}

/** Ends all faults. */
export function healOutputs(stage: Stage): void {
  const absent = stage.plant.sides.filter((side) => side.is_absent);
  for (const side of stage.plant.sides) {
    side.broker.latency_ms = USUAL_LATENCY_MS;
    side.broker.cut_after = null;
    side.broker.closes_after_confirmation = false;
    side.is_host_online = true;
    comeBack(stage, side);
  }
  if (absent.length > 0)
    void stage.box().restart(1_000, () => {
      for (const side of absent) {
        side.put_back.push(stage.box().site.clock.truth());
        side.is_absent = false;
      }
    });
}
