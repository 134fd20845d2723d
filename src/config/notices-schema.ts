import { z } from "zod";
import { NOTICE_CLASSES } from "../domain/notice.ts";
import { boothIds, caFile, optionalPath, profileModeSchema, user, whole } from "./common-schema.ts";
import { marked } from "./marks.ts";
import { shapeFault } from "./shape-faults.ts";

/** Each notice keeps its waiting messages in memory and on disk. A mailing list reaches more people. */
const MAX_NOTICES = 4;
const MAX_RECIPIENTS = 20;

const time = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, shapeFault("notice.time_of_day"))
  .describe("Local wall-clock time, HH:MM.");
/** A mail address as in a header: bare, or in angle brackets after a name. */
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
    .describe("starttls: asked for after the greeting, as on port 587. tls: from the first byte, as on port 465."),
  user,
  password_file: secretFile("the user's password"),
  ca_file: caFile(),
  from: address,
  to: z.array(address).min(1).max(MAX_RECIPIENTS),
});

const webhookSchema = z.strictObject({
  url: marked(
    z.string().max(2000).describe("https, or http on this machine. Told is its host alone: the rest may be a secret."),
    "address",
  ),
  secret_file: secretFile("a secret by which each request is signed (HMAC-SHA256, X-Signature)"),
  ca_file: caFile(),
});

const mqttSchema = z.strictObject({
  url: z.string().max(2000).describe("mqtts or wss; mqtt and ws on this machine alone."),
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
        .describe("What is told, its beginning and its end. Default: all."),
      urgent: z.array(noticeClass).default(["estop", "fault"]).describe("What is told during quiet hours too."),
      booths: boothIds.describe("Ids of the booths that it is about. Default: all."),
      quiet: z
        .strictObject({
          from: time,
          to: time,
          tz: z.string().min(1).max(64).exactOptional().describe("IANA name. Default: the first booth's."),
        })
        .exactOptional()
        .describe("What comes then is told as one at its end, but for what is urgent."),
      max_per_hour: whole(1, 60).default(12).describe("What comes beyond that is told as one when there is room."),
      link_minutes: whole(1, 10_080).default(5).describe("A PLC that doesn't answer is told after this."),
      service_minutes: whole(1, 10_080).default(30).describe("A service that can't be reached is told after this."),
      mode_minutes: z
        .partialRecord(profileModeSchema, whole(1, 10_080))
        .default({})
        .describe("A booth that stays in a mode is told after this, e.g. bake: 90."),
      mail: mailSchema.exactOptional(),
      webhook: webhookSchema.exactOptional().describe("A JSON document by POST."),
      mqtt: mqttSchema.exactOptional().describe("The same document to a topic, QoS 1, not retained."),
    }),
  )
  .max(MAX_NOTICES)
  .default([]);

export type NoticeInput = z.output<typeof noticesSchema>[number];
