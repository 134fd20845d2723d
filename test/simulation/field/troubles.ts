import { closingDevice } from "../../../simulators/virtual/closing-device.ts";
import { findProfile } from "../../../src/config/profile.ts";
import { rows } from "../../../simulators/service/storage/db.ts";
import type { VirtualClock } from "../../../simulators/virtual/clock.ts";
import type { Box } from "../box.ts";
import { SERIAL } from "../../support/virtual-service.ts";
import { type Plant, sayHost } from "../outputs/plant.ts";
import type { FieldFault } from "../story.ts";
import type { Uplink } from "../uplink.ts";
import { type Foreign, withForeign } from "./foreign.ts";
import type { FieldState } from "./state.ts";

/** The parts that field faults change. */
interface Stage {
  box(): Box;
  readonly uplink: Uplink;
  readonly plant: Plant;
  readonly field: FieldState;
  readonly profile: string;
  plc_well_since: number;
}

/** Time for which the gateway has no power. */
const BOOT_MS = 30_000;

/** Starts the fault. Returns a function that ends it; null: it ends by itself. */
export function upsetField(
  stage: Stage,
  fault: FieldFault,
  { boot, sync }: { readonly boot: (clock: VirtualClock) => void; readonly sync: (clock: VirtualClock) => void },
): (() => void) | null {
  const box = stage.box();
  const { uplink, field } = stage;
  const { clock, plc, booth } = box.site;
  switch (fault.kind) {
    case "no_time":
      return loseTime(stage, { boot, sync });
    case "wrong_type": {
      const { tag, how } = fault;
      plc.wrong_types = new Map([...plc.wrong_types, [tag, how]]);
      field.wrong.set(tag, clock.truth());
      return () => {
        plc.wrong_types = new Map([...plc.wrong_types].filter(([name]) => name !== tag));
        field.wrong.delete(tag);
        stage.plc_well_since = clock.truth();
      };
    }
    case "plc_closes": {
      const profile = findProfile(stage.profile);
      if (profile.protocol !== "modbus") return null;
      const outside = { wall: () => clock.truth(), mono: () => clock.mono() };
      const device = closingDevice({ booth, profile, clock: outside, when: fault.when });
      const span: FieldState["closing"][number] = { from: clock.truth(), to: null, lacking: 0 };
      plc.closing = device;
      field.closing.push(span);
      return () => {
        if (plc.closing === device) plc.closing = null;
        span.to = clock.truth();
      };
    }
    case "service_closes":
      uplink.closes_after_ack = true;
      return () => (uplink.closes_after_ack = false);
    case "foreign":
      return sayForeign(stage, fault);
    case "fatal":
      box.failLoop(fault.loop, fault.hangs);
      return null;
  }
}

function sayForeign(stage: Stage, { how, in: where }: Extract<FieldFault, { kind: "foreign" }>): () => void {
  const { uplink, plant } = stage;
  const box = stage.box();
  const { clock, service } = box.site;
  const foreign: Foreign = { how, in: where };
  uplink.foreign.add(foreign);
  if (where === "record") lookAtRecord(box);
  if (where === "command")
    for (const { id } of rows<{ readonly id: string }>(service.db, "SELECT id FROM gateways"))
      service.orderText(id, withForeign(JSON.stringify({ id: `foreign-${clock.truth()}`, type: "digest" }), how));
  // A user requests a comparison with the service during the fault.
  if (where === "report") compareByHand(box);
  if (where === "host_state")
    for (const side of plant.sides) if (side.is_host_online) sayHost(side, clock, (state) => withForeign(state, how));
  return () => {
    uplink.foreign.delete(foreign);
    if (where === "host_state") for (const side of plant.sides) sayHost(side, clock);
  };
}

/** Time within which the agent reads the changed record. */
const ORDER_MS = 600_000;

/** Sends the command that the configuration in the booth's record has changed, so that the agent reads the record. */
function lookAtRecord({ site: { service, clock } }: Box): void {
  const now = clock.truth();
  const args = { serial: SERIAL, revision: 2 };
  for (const { id } of rows<{ readonly id: string }>(service.db, "SELECT id FROM gateways"))
    service.order(id, { id: `look-${now}`, type: "config_changed", args, expires_at: now + ORDER_MS });
}

function compareByHand(box: Box): void {
  try {
    box.agent()?.reconcile("booth-1", null);
  } catch (error) {
    // Only one comparison runs at a time.
    if (!(error instanceof RangeError)) throw error;
  }
}

function loseTime(stage: Stage, { boot, sync }: Parameters<typeof upsetField>[2]): () => void {
  const { uplink, field } = stage;
  const { clock, service } = stage.box().site;
  const span: FieldState["unconfirmed"][number] = { from: clock.truth(), to: null };
  field.timeless += 1;
  field.unconfirmed.push(span);
  service.way.down = true;
  uplink.closings += 1;
  stage.box().cutPower(BOOT_MS, () => boot(clock));
  return () => {
    // The story may have ended before the fault.
    if (span.to !== null) return;
    field.timeless -= 1;
    span.to = clock.truth();
    service.way.down = false;
    sync(clock);
  };
}
