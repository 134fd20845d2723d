import { render } from "../../src/domain/messages/render.ts";
import { expect, it } from "vitest";
import { serviceAdviceFor, faultOfCode, isWayBlocked } from "../../src/domain/link-error.ts";
import { faultOf, faultText } from "../../src/domain/storage.ts";

it.each([
  ["SQLITE_CORRUPT_INDEX", "damaged", "the agent salvages its data into a new file"],
  ["SQLITE_IOERR_SHORT_READ", "damaged", "the agent salvages its data into a new file"],
  ["SQLITE_IOERR_FSYNC", "fsync", "replace the memory card"],
  ["SQLITE_IOERR_DIR_FSYNC", "fsync", "replace the memory card"],
  ["ENOSPC", "full", "free some space"],
  ["SQLITE_IOERR_WRITE", "refused", "read-only or worn out"],
  ["EROFS", "refused", "read-only or worn out"],
])("the store error %s maps to the fault %s, whose text has advice", (code, fault, advice) => {
  expect(faultOf(code)).toBe(fault);
  expect(render(faultText(faultOf(code), "the detail"))).toContain("(the detail)");
  expect(render(faultText(faultOf(code), "the detail"))).toContain(advice);
});

it("the text of a fault that the store cannot repair is the original error message", () => {
  expect(render(faultText(faultOf("SQLITE_MISUSE"), "the detail"))).toBe("the detail");
});

it.each([
  ["ENOTFOUND", "unknown_host"],
  ["CERT_HAS_EXPIRED", "certificate_expired"],
  ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "certificate_wanted"],
  ["ERR_SSL_TLSV1_ALERT_BAD_CERTIFICATE", "certificate_wanted"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "not_tls"],
  ["ERR_TLS_PROTOCOL_VERSION_CONFLICT", "tls"],
  ["EACCES", null],
  [0, null],
  [4, "credential"],
  [142, "taken_over"],
  [1, "protocol"],
  [255, "protocol"],
])("the code %s of a failed connection maps to the fault %s", (code, fault) => {
  expect(faultOfCode(code)).toBe(fault);
});

it("isWayBlocked is true for a service that could not be reached, and false for a TLS error", () => {
  expect([isWayBlocked("unreachable"), isWayBlocked("unknown_host"), isWayBlocked("tls")]).toEqual([true, true, false]);
  expect(render(serviceAdviceFor("taken_over"))).toContain("disconnect it from the network");
});
