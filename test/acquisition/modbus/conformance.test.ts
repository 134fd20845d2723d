import { describeModbus } from "../../support/modbus-conformance.ts";

describeModbus("tcp");
