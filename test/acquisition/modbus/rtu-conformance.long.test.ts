import { describeModbus } from "./modbus-conformance.ts";

describeModbus("rtu");
