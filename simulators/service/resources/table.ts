import type { Operation } from "../http/operation.ts";
import { authenticate } from "./authenticate.ts";
import { booths } from "./booths.ts";
import { boothsProvisioning } from "./booths_provisioning.ts";
import { durationByMode } from "./duration_by_mode.ts";
import { facilities } from "./facilities.ts";
import { filterMaintenanceHistory } from "./filter_maintenance_history.ts";
import { filterMaintenances } from "./filter_maintenances.ts";
import { frequencyByMode } from "./frequency_by_mode.ts";
import { history } from "./history.ts";
import { latestUpdates } from "./latest_updates.ts";
import { latestValues } from "./latest_values.ts";
import { revisionHistory } from "./revision_history.ts";
import { runtime } from "./runtime.ts";
import { utilizationStats } from "./utilization_stats.ts";

/** Every operation the service offers: one file per resource, one row here. */
export const OPERATIONS: readonly Operation[] = [
  ...authenticate,
  ...booths,
  ...boothsProvisioning,
  ...durationByMode,
  ...facilities,
  ...filterMaintenanceHistory,
  ...filterMaintenances,
  ...frequencyByMode,
  ...history,
  ...latestUpdates,
  ...latestValues,
  ...revisionHistory,
  ...runtime,
  ...utilizationStats,
];
