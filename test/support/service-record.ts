import type { ServiceRecord } from "../../src/domain/service.ts";

/** Makes a booth's record as the service returns it. Fields that the test doesn't name have neutral values. */
export function serviceRecord(change: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    serial_number: "ABCD-123-123",
    completion_status: "IN PROGRESS",
    hw_configuration: null,
    status: "provisioned",
    generation: 3,
    booth_id: "b-1",
    account_name: "Acme",
    facility_id: "f-1",
    facility_name: "Denver",
    tz: "America/Denver",
    working_hours: [],
    brand_name: null,
    model_number: null,
    gateway: null,
    mqtt: null,
    config: null,
    ...change,
  };
}
