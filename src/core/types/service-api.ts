import type { BindingChange } from "./provisioning.ts";
import type { AckedStream, Claim, DeviceFields, ServiceAnswer, ServiceRecord } from "./service.ts";

/** The service's HTTP interface, as far as one booth's binding needs it. Never rejects: every outcome is a value. */
export interface ServiceApi {
  lookUp(key: string, serial: string): Promise<ServiceAnswer<ServiceRecord>>;
  /** What the service shows of the booth's devices. */
  shown(key: string, booth_id: string): Promise<ServiceAnswer<DeviceFields>>;
  /** The booth's newest stream, and how far the service has it; null: it names none. */
  lastStream(key: string, booth_id: string): Promise<ServiceAnswer<{ readonly acked: AckedStream | null }>>;
  /** A report; its body as plain data. */
  report(key: string, path: string): Promise<ServiceAnswer<unknown>>;
  /** Safe to repeat with the same claim id, after whatever. */
  claim(key: string, claim: Claim): Promise<ServiceAnswer<ServiceRecord>>;
  update(key: string, serial: string, change: BindingChange): Promise<ServiceAnswer<ServiceRecord>>;
}
