import type { OpcuaAddress } from "../core/types/config.ts";
import type { OpcuaInput } from "./gateway-schema.ts";

/** What is wrong with a booth's `opcua`, by key. The rules keep a password from ever leaving unprotected. */
export function checkOpcua(input: OpcuaInput): readonly (readonly [key: string, message: string])[] {
  return [...checkEndpoint(input), ...checkSecurity(input), ...checkLogin(input)];
}

/** 64 lower-case hex digits, or null: no SHA-256. Colons and blanks are left out, as tools print them. */
export function normaliseFingerprint(typed: string): string | null {
  const digits = typed
    .replace(/^sha-?256[:=]/i, "")
    .replace(/[\s:]/g, "")
    .toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? digits : null;
}

/** With absolute paths and a normalised fingerprint. */
export function opcuaOf(input: OpcuaInput, absolute: (path: string) => string): OpcuaAddress {
  const { password_file, user_certificate_file, user_key_file, server_certificate_file, ...rest } = input;
  const { server_certificate_fingerprint, ...plain } = rest;
  const fingerprint = normaliseFingerprint(server_certificate_fingerprint ?? "");
  return {
    ...plain,
    ...(fingerprint === null ? {} : { server_certificate_fingerprint: fingerprint }),
    ...(password_file === undefined ? {} : { password_file: absolute(password_file) }),
    ...(user_certificate_file === undefined ? {} : { user_certificate_file: absolute(user_certificate_file) }),
    ...(user_key_file === undefined ? {} : { user_key_file: absolute(user_key_file) }),
    ...(server_certificate_file === undefined ? {} : { server_certificate_file: absolute(server_certificate_file) }),
  };
}

type Faults = readonly (readonly [key: string, message: string])[];

function checkEndpoint({ endpoint }: OpcuaInput): Faults {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url?.protocol !== "opc.tcp:" || url.hostname === "") {
    return [["endpoint", "an endpoint is opc.tcp://HOST:PORT, with or without a path"]];
  }
  return url.username === "" && url.password === ""
    ? []
    : [["endpoint", "no name or password belongs in the endpoint"]];
}

function checkSecurity(input: OpcuaInput): Faults {
  const { security_policy, allow_insecure, server_certificate_fingerprint, server_certificate_file } = input;
  const insecure = security_policy === "None";
  const faults: (readonly [string, string])[] = [];
  if (insecure && !allow_insecure) {
    faults.push(["security_policy", "None protects nothing: it needs allow_insecure: true beside it"]);
  }
  if (!insecure && allow_insecure) faults.push(["allow_insecure", "goes with security_policy: None alone"]);
  if (server_certificate_fingerprint !== undefined && server_certificate_file !== undefined) {
    faults.push(["server_certificate_file", "give the fingerprint or the file, not both"]);
  }
  if (server_certificate_fingerprint !== undefined && normaliseFingerprint(server_certificate_fingerprint) === null) {
    faults.push(["server_certificate_fingerprint", "a SHA-256 fingerprint has 64 hex digits"]);
  }
  return faults;
}

function checkLogin(input: OpcuaInput): Faults {
  const { security_policy, user, password_file, user_certificate_file, user_key_file } = input;
  const faults: (readonly [string, string])[] = [];
  if (user === undefined && password_file !== undefined) {
    faults.push(["password_file", "password_file goes with user"]);
  }
  if ((user_certificate_file === undefined) !== (user_key_file === undefined)) {
    const key = user_key_file === undefined ? "user_certificate_file" : "user_key_file";
    faults.push([key, "user_certificate_file and user_key_file go together"]);
  }
  if (user !== undefined && user_certificate_file !== undefined) {
    faults.push(["user_certificate_file", "log in by name or by certificate, not both"]);
  }
  if (security_policy === "None" && user !== undefined) {
    faults.push(["user", "with security_policy None no password may be sent"]);
  }
  return faults;
}
