import { it } from "vitest";
import { holdServiceToItsAcks } from "./service-acks.ts";

const KILLS = 12;

it(`a service killed ${KILLS} times in mid-ingest has all that it acked, whole batches, each record once`, () =>
  holdServiceToItsAcks(KILLS));
