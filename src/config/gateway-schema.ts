import { z } from "zod";

import { normalizeSerial, WEEKDAYS } from "../domain/booth.ts";
import { DEFAULT_DATA_DIR, DEFAULT_RUNTIME_DIR, MODBUS_PORT } from "../domain/plc-address.ts";
import { DEFAULT_BUDGET, RECORDS_AGE_MS } from "../domain/storage.ts";
import { DAY_MS, YEAR_MS } from "../domain/time.ts";
import type { BoothId, Serial } from "../domain/units.ts";
import {
  caFile,
  groupNameSchema,
  groupSchema,
  limitsSchema,
  modeSetsSchema,
  optionalPath,
  path,
  perFilter,
  profileNameSchema,
  user,
  whole,
} from "./common-schema.ts";
import { marked } from "./marks.ts";
import { noticesSchema } from "./notices-schema.ts";
import { outputsSchema } from "./outputs-schema.ts";
import { shapeFault } from "./shape-faults.ts";
import { bakeRulesSchema, pricesSchema } from "./records-schema.ts";

/*
 * This module has the schema of the configuration file. Parsing returns the configuration with defaults and units; `port.ts` takes its
 * types from here. `config.ts` adds absolute paths and each booth's kind of link, because those need the file's folder or the checks.
 */

/** The maximum number of booths on a gateway, which is a small box. More booths need a second gateway. */
export const MAX_BOOTHS = 64;

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/, shapeFault("config.time_of_day"))
  .overwrite((text) => (text.length === 5 ? `${text}:00` : text))
  .describe("Local wall-clock time, HH:MM or HH:MM:SS.");

/** A TCP port; 0 means any free port. */
const port = whole(0, 65_535);

const shiftSchema = z.strictObject({
  day: z.enum(WEEKDAYS),
  enabled: z.boolean().default(true),
  start: time,
  stop: time.describe("If stop is before start, the shift runs past midnight; if equal to start, for 24 h."),
});

const serialSchema = z.strictObject({
  path: path.describe("e.g. /dev/serial/by-id/usb-...; a name under by-id always refers to the same adapter."),
  baud_rate: z
    .union([1200, 2400, 4800, 9600, 19_200, 38_400, 57_600, 115_200].map((rate) => z.literal(rate)))
    .default(19_200),
  data_bits: z.union([z.literal(7), z.literal(8)]).default(8),
  parity: z
    .enum(["none", "even", "odd"])
    .default("even")
    .describe("The Modbus default is even; many devices ship with none."),
  stop_bits: z.union([z.literal(1), z.literal(2)]).default(1),
});

const modbusSchema = z
  .strictObject({
    host: z.string().min(1).max(253).exactOptional(),
    port: whole(1, 65_535).exactOptional().describe(`Default ${MODBUS_PORT}.`),
    framing: z
      .enum(["tcp", "rtu"])
      .exactOptional()
      .describe("rtu: RTU frames over TCP, as simple serial device servers expect them. Default: tcp."),
    serial: serialSchema.exactOptional().describe("A serial line (Modbus RTU) instead of host and port."),
    unit_id: whole(0, 255).exactOptional().describe("Overrides the profile's unit id."),
    share: z
      .strictObject({
        port: port.describe("TCP port at which other clients read this PLC by Modbus TCP, between the agent's polls."),
        address: z
          .string()
          .min(1)
          .max(64)
          .default("127.0.0.1")
          .describe("Address of this box to listen on. Any address except 127.0.0.1 requires clients."),
        clients: z.array(z.string().max(64)).max(16).default([]).describe("IP addresses that are allowed to connect."),
        max_age_ms: whole(0, 600_000)
          .default(2_000)
          .describe(
            "Maximum age of values from the agent's polls that may answer a request. 0: every request reads the PLC.",
          ),
      })
      .exactOptional()
      .describe("Shares the agent's connection, read-only, because many PLCs allow only one connection."),
    transaction_id_offset: whole(-1, 1)
      .exactOptional()
      .describe("For a device that responds with a transaction id that is off by one: 1 or -1. Modbus TCP only."),
    answer_unit_id: whole(0, 255)
      .exactOptional()
      .describe(
        "Unit id in the device's responses, if it differs from the request's unit id; mostly 0. Modbus TCP only.",
      ),
    answer_timeout_ms: whole(50, 30_000)
      .exactOptional()
      .describe("Default: 2000 over TCP (800 if booths share the connection), 500 with RTU."),
  })
  .describe("Booths with the same host and port, or the same serial path, share one connection.");

/** Security policies without known weaknesses, and None. */
export const OPCUA_POLICIES = ["Basic256Sha256", "Aes128_Sha256_RsaOaep", "Aes256_Sha256_RsaPss", "None"] as const;

/**
 * Normalizes a SHA-256 fingerprint to 64 lower-case hex digits, without the colons and blanks that tools print. Returns null for any other
 * text.
 */
export function normalizeFingerprint(typed: string): string | null {
  const digits = typed
    .replace(/^sha-?256[:=]/i, "")
    .replace(/[\s:]/g, "")
    .toLowerCase();
  return /^[0-9a-f]{64}$/.test(digits) ? digits : null;
}

const opcuaSchema = z.strictObject({
  endpoint: z.string().max(2000).describe("opc.tcp://HOST:PORT/PATH"),
  security_policy: z
    .enum(OPCUA_POLICIES)
    .default("Basic256Sha256")
    .describe("All policies except None sign and encrypt."),
  allow_insecure: z
    .boolean()
    .default(false)
    .describe("Allows security_policy None. Every reading is then uncertain, and no password is sent."),
  mode: z
    .enum(["read", "subscribe"])
    .exactOptional()
    .describe(
      "read (default): each poll reads the values. subscribe: the server reports changes; if it can't, each poll reads the values.",
    ),
  user,
  password_file: marked(
    optionalPath("File of mode 0600 that holds the user's password. Default: the passwords in the service's record."),
    "password",
  ),
  user_certificate_file: marked(optionalPath("Certificate for the login, PEM."), "certificate"),
  user_key_file: marked(optionalPath("Its private key, PEM, mode 0600."), "own_key"),
  server_certificate_fingerprint: z
    .string()
    .max(200)
    .overwrite((typed) => normalizeFingerprint(typed) ?? typed)
    .exactOptional()
    .describe("SHA-256 of the server's certificate."),
  server_certificate_file: marked(
    optionalPath("The server's certificate, or the certificate of its issuing authority; PEM or DER."),
    "certificate",
  ),
});

export const boothId: z.ZodType<BoothId, string> = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, shapeFault("config.booth_id"));

/** A serial number in its normal spelling. Any other text stays as typed and is rejected by the checks. */
const serialNumber: z.ZodType<Serial, string> = z
  .string()
  .max(64)
  .overwrite((typed) => normalizeSerial(typed) ?? typed);

const boothSchema = z.strictObject({
  id: boothId,
  serial: serialNumber.exactOptional().describe("Serial number on the nameplate; can be entered later."),
  profile: profileNameSchema.describe("Name of the PLC program's profile."),
  modbus: modbusSchema.exactOptional(),
  opcua: opcuaSchema.exactOptional(),
  poll: z.record(groupNameSchema, groupSchema).default({}).describe("Overrides the profile's settings per group."),
  mode_sets: modeSetsSchema.exactOptional(),
  min_stage_ms: whole(0, 600_000).exactOptional(),
  bay_count: whole(1, 4).default(1),
  burner_size_btu_h: z.number().positive().exactOptional(),
  motor_size_hp: z.number().positive().exactOptional(),
  filters: perFilter(z.strictObject({ limits: limitsSchema })),
  tz: z
    .string()
    .min(1)
    .max(64)
    .default("UTC")
    .describe("IANA name of the time zone, used until the service sends one."),
  working_hours: z.array(shiftSchema).max(100).default([]),
  bake_rules: bakeRulesSchema,
  prices: pricesSchema,
});

const serviceSchema = z.strictObject({
  url: z
    .string()
    .max(2000)
    // Removes slashes at the end. Keeps a URL with a query or a fragment as typed, because the checks reject it.
    .overwrite((url) => (/[?#]/.test(url) ? url : url.replace(/(?<!\/)\/+$/, "")))
    .exactOptional()
    .describe("Base URL of /api. https, or http for loopback addresses. Absent: entered at the set-up."),
  ca_file: caFile(),
  proxy_url: z.string().max(2000).exactOptional().describe("http://HOST:PORT of a proxy for the service's https."),
  api_key_file: marked(optionalPath("File of mode 0600 that holds the first key."), "first_key"),
  api_key_credential: z
    .string()
    .regex(/^[A-Za-z0-9_.-]{1,255}$/, shapeFault("config.credential"))
    .exactOptional()
    .describe("systemd credential that holds the first key."),
  authorization: z
    .enum(["key", "session"])
    .exactOptional()
    .describe(
      "key (default): the key itself is sent. session: the key is exchanged for a session token (POST /api/authenticate).",
    ),
  client_certificate_file: marked(
    optionalPath("Client certificate for a broker that requests one, PEM; read again at each connection."),
    "authorities",
  ),
  client_key_file: marked(optionalPath("Its private key, PEM, mode 0600."), "own_key"),
  mqtt_url: z.string().max(2000).exactOptional().describe("Broker, if the service's records contain none."),
  monthly_mb: whole(1, 1_000_000)
    .exactOptional()
    .describe(
      "Megabytes (10^6 bytes) that the box may use per month (UTC). When the budget runs low, the agent reduces heartbeats, batches and backlog, in that order, but always sends mode changes. Default: no budget.",
    ),
  backlog_records_per_s: whole(10, 1_000_000)
    .exactOptional()
    .describe(
      "Rate limit for the backlog after an outage, in records per second, for a shared uplink. Live records are not delayed.",
    ),
});

const storeSchema = z.strictObject({
  max_bytes: whole(4_000_000, 100_000_000_000)
    .default(DEFAULT_BUDGET.max_bytes)
    .describe("Disk space for each booth. If it runs out, the oldest readings are dropped, acked ones first."),
  max_age_days: whole(1, 3_650)
    .default(DEFAULT_BUDGET.max_age_ms / DAY_MS)
    .describe("Acked readings are kept for this time."),
});

const retentionSchema = z.strictObject({
  records_years: whole(2, 30)
    .default(RECORDS_AGE_MS / YEAR_MS)
    .describe("Years for which the records of filters and bakes are kept. Other derived data is kept for 400 days."),
});

const pageSchema = z.strictObject({
  port: port
    .default(8470)
    .describe("Port of the technician's page and the local API, on this machine only (127.0.0.1)."),
  lan_port: port
    .default(8443)
    .describe(
      "Port of the page on every network, with HTTPS and a PIN, while `booth-gateway page --for` keeps it open.",
    ),
  network: z
    .enum(["timed", "always"])
    .exactOptional()
    .describe(
      "always: the page stays open on the network with the PIN of pin_file, and a device stays signed in for 30 days. timed: the page opens only on request, for a limited time. Absent: timed, until the set-up changes it.",
    ),
  pin_file: marked(
    optionalPath(
      "File of mode 0600 with a PIN of 8 digits or more. While no booth is bound, the page is open on the network with this PIN until 30 minutes after boot.",
    ),
    "pin",
  ),
});

const metricsSchema = z.strictObject({
  port: port
    .default(9464)
    .describe("Port on the network, with HTTPS and the page's certificate. It serves only GET /metrics."),
  token_file: marked(
    path.describe("File of mode 0600 with the bearer token that a scraper must send, 32 characters or more."),
    "token",
  ),
});

export const gatewaySchema = z.strictObject({
  data_dir: path.default(DEFAULT_DATA_DIR),
  runtime_dir: path.default(DEFAULT_RUNTIME_DIR),
  profile_dirs: z
    .array(path)
    .min(1)
    .max(16)
    .exactOptional()
    .describe(
      "Folders of custom profiles, searched before the shipped profiles. Default: profiles, next to this file.",
    ),
  log_level: z.enum(["debug", "info", "warn", "error"]).default("info"),
  commit_interval_ms: whole(1000, 600_000)
    .default(10_000)
    .describe("Maximum data loss at a power cut. A longer interval reduces flash wear."),
  heartbeat_interval_ms: whole(10_000, 120_000).default(60_000),
  store: storeSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  page: pageSchema.prefault({}),
  clock_file: optionalPath("Simulation only: the agent takes the time from this file."),
  metrics: metricsSchema.exactOptional().describe("Allows scraping over the network. Absent: only on this machine."),
  service: serviceSchema.prefault({}),
  booths: z.array(boothSchema).max(MAX_BOOTHS).default([]).describe("Empty: booths are added at the set-up."),
  outputs: outputsSchema.describe("Further receivers of the readings, in addition to the service."),
  notices: noticesSchema.describe("Alarm messages that the box sends itself, also while the service is unreachable."),
});

export type GatewayInput = z.output<typeof gatewaySchema>;
export type BoothInput = z.output<typeof boothSchema>;
export type ModbusInput = z.output<typeof modbusSchema>;
export type OpcuaInput = z.output<typeof opcuaSchema>;
