import { z } from "zod";
import { NOTICE_CLASSES } from "../domain/notice.ts";
import { boothIds, caFile, optionalPath, profileModeSchema, user, whole } from "./common-schema.ts";
import { marked } from "./marks.ts";
import { shapeFault } from "./shape-faults.ts";

/**
 * The maximum number of notices. Each notice keeps its waiting messages in memory and on disk. To reach more people, use a mailing list.
 */
const MAX_NOTICES = 4;
const MAX_RECIPIENTS = 20;

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, shapeFault("notice.time_of_day"))
  .describe("Local wall-clock time, HH:MM.");
/** A mail address as in a header: alone, or in angle brackets after a name. */
const address = z
  .string()
  .max(200)
  .regex(/^([^<>\p{Cc}]* )?<?[^\s<>@,;\p{Cc}]+@[^\s<>@,;\p{Cc}]+>?$/u, shapeFault("notice.mail_address"));
const noticeClass = z.enum(NOTICE_CLASSES);
const secretFile = (what: string) => marked(optionalPath(`File of mode 0600 that holds ${what}.`), "password");

const mailSchema = z.strictObject({
  host: z.string().min(1).max(253).describe("The mail server (SMTP)."),
  port: whole(1, 65_535).default(587),
  tls: z
    .enum(["starttls", "tls", "none"])
    .default("starttls")
    .describe("starttls: TLS starts after the greeting, as on port 587. tls: TLS from the first byte, as on port 465."),
  user,
  password_file: secretFile("the user's password"),
  ca_file: caFile(),
  from: address,
  to: z.array(address).min(1).max(MAX_RECIPIENTS),
});

const webhookSchema = z.strictObject({
  url: marked(
    z
      .string()
      .max(2000)
      .describe("https, or http on this machine. Messages show only the host, because the rest may be secret."),
    "address",
  ),
  secret_file: secretFile("a secret that signs each request (HMAC-SHA256, X-Signature)"),
  ca_file: caFile(),
});

const mqttSchema = z.strictObject({
  url: z.string().max(2000).describe("mqtts or wss; mqtt and ws only on this machine."),
  mqtt_version: z.enum(["v5", "v3.1.1"]).default("v5"),
  topic: z
    .string()
    .min(1)
    .max(512)
    .regex(/^[^$+#\p{Cc}][^+#\p{Cc}]*$/u, shapeFault("config.topic"))
    .default("booths/notices"),
  user,
  password_file: secretFile("the user's password"),
  ca_file: caFile(),
});

export const noticesSchema = z
  .array(
    z.strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, shapeFault("notice.name")),
      events: z
        .array(noticeClass)
        .min(1)
        .default([...NOTICE_CLASSES])
        .describe("Events to report, at their start and end. Default: all."),
      urgent: z.array(noticeClass).default(["estop", "fault"]).describe("Events to report during quiet hours too."),
      booths: boothIds.describe("Ids of the booths to report on. Default: all."),
      quiet: z
        .strictObject({
          from: time,
          to: time,
          tz: z
            .string()
            .min(1)
            .max(64)
            .exactOptional()
            .describe("IANA name of the time zone. Default: the first booth's."),
        })
        .exactOptional()
        .describe("Quiet hours. Events of this time that are not urgent are sent in one message at its end."),
      max_per_hour: whole(1, 60)
        .default(12)
        .describe("Events beyond this limit are sent in one message as soon as the limit allows."),
      link_minutes: whole(1, 10_080).default(5).describe("Time after which an unreachable PLC is reported."),
      service_minutes: whole(1, 10_080).default(30).describe("Time after which an unreachable service is reported."),
      mode_minutes: z
        .partialRecord(profileModeSchema, whole(1, 10_080))
        .default({})
        .describe("Time after which a booth that stays in a mode is reported, e.g. bake: 90."),
      mail: mailSchema.exactOptional(),
      webhook: webhookSchema.exactOptional().describe("Sends a JSON document by POST."),
      mqtt: mqttSchema.exactOptional().describe("Sends the same document to a topic, QoS 1, not retained."),
    }),
  )
  .max(MAX_NOTICES)
  .default([]);

export type NoticeInput = z.output<typeof noticesSchema>[number];
