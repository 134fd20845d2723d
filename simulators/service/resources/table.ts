import { underContract } from "../http/contract-table.ts";
import type { Operation } from "../http/operation.ts";
import { accounts } from "./accounts.ts";
import { regions } from "./regions.ts";
import { alertTypes } from "./alert-types.ts";
import { alerts } from "./alerts.ts";
import { eventDefinitions } from "./event-definitions.ts";
import { notifications } from "./notifications.ts";
import { apiKeys } from "./api-keys.ts";
import { users } from "./users.ts";
import { pageOperations, passwords } from "./passwords.ts";
import { boothOverview } from "./booth-overview.ts";
import { boothUsage } from "./booth-usage.ts";
import { exportCsv } from "./export-csv.ts";
import { help } from "./help.ts";
import { filterServices } from "./filter-services.ts";
import { filterTrends } from "./filter-trends.ts";
import { utilizationReports } from "./utilization.ts";
import { facilityUsage } from "./facility-usage.ts";
import { validationIncidents } from "./validation-incidents.ts";
import { authenticate } from "./authenticate.ts";
import { booths } from "./booths.ts";
import { boothsProvisioning } from "./booths-provisioning.ts";
import { durationByMode } from "./duration-by-mode.ts";
import { facilities } from "./facilities.ts";
import { filterMaintenanceHistory } from "./filter-maintenance-history.ts";
import { filterMaintenances } from "./filter-maintenances.ts";
import { frequencyByMode } from "./frequency-by-mode.ts";
import { history } from "./history.ts";
import { latestUpdates } from "./latest-updates.ts";
import { latestValues } from "./latest-values.ts";
import { revisionHistory } from "./revision-history.ts";
import { runtime } from "./runtime.ts";
import { utilizationStats } from "./utilization-stats.ts";

/** Operations that read a few rows of the caller's account, and all that change permissions. */
const RECORDS: readonly Operation[] = [
  ...accounts,
  ...apiKeys,
  ...authenticate,
  ...help,
  ...boothsProvisioning,
  ...passwords,
  ...regions,
  ...users,
];

/** Operations that read booths' logs, and those that depend on such answers. */
const REPORTS: readonly Operation[] = [
  ...alertTypes,
  ...alerts,
  ...boothOverview,
  ...boothUsage,
  ...eventDefinitions,
  ...exportCsv,
  ...booths,
  ...durationByMode,
  ...facilities,
  ...facilityUsage,
  ...filterMaintenanceHistory,
  ...filterMaintenances,
  ...filterServices,
  ...filterTrends,
  ...frequencyByMode,
  ...history,
  ...latestUpdates,
  ...latestValues,
  ...notifications,
  ...revisionHistory,
  ...runtime,
  ...utilizationReports,
  ...utilizationStats,
  ...validationIncidents,
];

/** Every operation the service offers: one file per resource, one row here; who may call it stands in the contract's table. */
export const OPERATIONS: readonly Operation[] = underContract([
  ...RECORDS,
  ...REPORTS.map((one) => ({ ...one, is_report: true })),
]);

/** Requests of the owner's page that need no key. They aren't part of the interface. */
export const PAGE_OPERATIONS: readonly Operation[] = pageOperations;
