import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { driverTools } from "../../../src/acquisition/tool-drivers.ts";
import { previewOf } from "../../../src/tools/import/preview.ts";
import { liveAt } from "../../../src/tools/profile/live.ts";
import { drawnProfile, listRows, workshopAt } from "../../cli/drawn-plc.ts";
import { quietIo } from "../../cli/say.ts";
import { silentLog } from "../../support/silent-log.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { workbook } from "../../support/workbook.ts";

const tools = driverTools({ wall: () => Date.now(), log: silentLog });

async function previewed(file: string, options: Readonly<Record<string, string>>) {
  const call = { values: options, operands: ["preview", file], io: quietIo() };
  return previewOf(call, file, (asked, draft) => liveAt({ tools, ...asked }, draft));
}

it("the preview of a workbook shows three registers with the PLC's values, for columns that a person chose", async () => {
  const site = await workshopAt(drawnProfile(4));
  await site.run("new unknown --from modbus");
  const file = join(temporaryFolder(), "list.xlsx");
  const [heads = [], ...rows] = listRows(site.profile);
  writeFileSync(file, workbook({ List: [heads.map((head) => (head === "Address" ? "Platz" : head)), ...rows] }));
  const options = { config: site.configFile, host: "127.0.0.1", port: String(site.plc.port) };
  const blind = await previewed(file, options);
  expect(blind.columns[1]).toMatchObject({ letter: "B", head: "Platz", kind: null, samples: { length: 3 } });
  const seen = await previewed(file, { ...options, columns: "B=address" });
  expect(seen.columns[1]).toMatchObject({ kind: "address" });
  expect(seen.rows).toHaveLength(rows.length);
  const [first] = site.profile.tags;
  expect(seen.samples[0]).toEqual({
    name: String(rows[0]?.[0]),
    place: `${first?.point.table}:${first?.point.address}`,
    value: site.shows(first?.name ?? ""),
  });
});
