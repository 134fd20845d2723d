import { expect, it, onTestFinished } from "vitest";
import { rows, run } from "../../../simulators/service/storage/db.ts";
import { evaluateRound } from "../../../simulators/service/events/evaluator.ts";
import { ingestBatch } from "../../../simulators/service/ingest/store.ts";
import { claim, startBench } from "./service-http.ts";
import { batchOf, HOUR, MINUTE, PARAMETERS, script } from "./service-log.ts";

it("an evaluation round reports a booth whose facility is damaged, and still evaluates the other booths", async () => {
  const bench = await startBench();
  onTestFinished(() => bench.running.stop());
  await claim(bench);
  const { db } = bench.running;
  const facility = { name: "spoilt", tz: "America/Denver" };
  const made = await bench.call("POST", "/api/facilities", { body: facility });
  expect(made.status, made.text).toBe(201);
  const spoilt = String(made.body["id"]);
  const copied = `INSERT INTO booths (id, account_id, facility_id, serial_number, name, config, created_at, updated_at)
    SELECT 'b0', account_id, ?, 'WXYZ9876', 'spoilt', config, created_at, updated_at FROM booths WHERE id = 'b1'`;
  run(db, copied, spoilt);
  const rules = [{ tag: "mode", op: "==", value: 3 }];
  const defined = await bench.call("POST", "/api/event_definitions", { body: { name: "spraying", rules } });
  expect(defined.status, defined.text).toBe(201);
  const records = script(PARAMETERS).set("mode", 3).wait(HOUR).set("mode", 0).wait(MINUTE).records();
  ingestBatch(db, { gatewayId: "gw-1", nowMs: bench.clock.now }, batchOf(records, { s0: 1 }));
  run(db, "UPDATE facilities SET working_hours = '[{' WHERE id = ?", spoilt);

  const failures = await evaluateRound({ db, now: () => bench.clock.now + 2 * HOUR }, new AbortController().signal);

  expect(failures).toEqual([expect.stringMatching(/^booth b0: .*JSON/)]);
  expect(rows(db, "SELECT booth_id FROM events")).toEqual([{ booth_id: "b1" }]);
});
