import { z } from "zod";
import { FILTER_TYPES } from "../domain/booth.ts";
import { LINK_ERROR_KINDS } from "../domain/link-error.ts";
import { boothFieldsShape } from "./booths.ts";
import { MINUTE_MS } from "../domain/time.ts";

const upTo = (most: number) => z.string().max(most);
const filled = (most: number) => z.string().min(1).max(most);

/** The booth's name on this gateway; absent if there is only one booth. */
const booth = upTo(60).optional();

const confirmation = z.strictObject({
  by: filled(100),
  note: upTo(500).default(""),
  /** True to replace another gateway that is bound to the booth. */
  replace: z.boolean().default(false),
  /** The service's booth if several booths match: its id, or its position in the list (#2). */
  service_booth: filled(200).optional(),
});

const filterChange = z.strictObject({
  booth,
  /** An id that the client creates. A repeated id means the same entry. */
  id: z.string().min(8).max(64),
  filter: z.enum(FILTER_TYPES),
  minutes_ago: z.number().min(0).default(0),
  by: upTo(100).default(""),
  /** The part number of the new filter. */
  part_number: z.string().trim().max(60).default(""),
  note: z.string().trim().max(200).default(""),
});

/** The link to a PLC, as entered on the page. No field is a file's path, so that no input can make the agent read a file. */
const plcLink = {
  modbus: z
    .strictObject({
      host: filled(253).optional(),
      port: z.int().min(1).max(65_535).optional(),
      framing: z.enum(["tcp", "rtu"]).optional(),
      serial: z
        .strictObject({
          path: z
            .string()
            .max(200)
            .regex(/^\/dev\/(?:tty[A-Za-z0-9]+|serial\/by-(?:id|path)\/[\w.:+-]+)$/),
          baud_rate: z.int().optional(),
          data_bits: z.int().optional(),
          parity: z.enum(["none", "even", "odd"]).optional(),
          stop_bits: z.int().optional(),
        })
        .optional(),
      unit_id: z.int().min(0).max(255).optional(),
    })
    .optional(),
  opcua: z
    .strictObject({
      endpoint: upTo(2000),
      security_policy: upTo(60).optional(),
      /** The user. The password is set separately with `set_up_login`, because no entry contains a password. */
      user: filled(256).optional(),
      allow_insecure: z.boolean().optional(),
      server_certificate_fingerprint: upTo(200).optional(),
    })
    .optional(),
};

const SIZES = Object.keys(boothFieldsShape.shape);
const size = upTo(60);

interface Body {
  readonly shape: z.ZodType;
  /** The error message for a body that doesn't have this shape. */
  readonly needs: string;
  /** True if an empty body counts as {}. */
  readonly may_be_empty?: true;
}

/** The request bodies, by their names in the table of operations. */
export const BODIES = {
  /** Claims a booth by its serial number. */
  claim: {
    shape: z.strictObject({
      serial_number: filled(60),
      booth,
      confirm: confirmation.optional(),
      /** The API key for the claim, if no key is installed. */
      api_key: filled(4096).optional(),
    }),
    needs: "serial_number is needed",
  },
  /** Sets the service's fields that a technician may change here. */
  binding: {
    shape: z
      .strictObject({
        status: z.enum(["released", "decommissioned"]).optional(),
        /** The reason. "wrong_serial" means that the serial number was mistyped, so the records sent so far are withdrawn. */
        reason: upTo(200).optional(),
        completion_status: z.enum(["IN PROGRESS", "COMPLETE"]).optional(),
      })
      .refine(({ status, completion_status }) => status !== undefined || completion_status !== undefined),
    needs: "status (released or decommissioned) or completion_status is needed; the other fields are the service's",
  },
  /** Confirms a claim after a person compared the booth with its card. */
  confirm: { shape: confirmation.extend({ booth }), needs: "by is needed: who compared the booth with the card" },
  /** Releases the booth. `wrong_serial` means that the serial number was mistyped, so the records sent so far are withdrawn. */
  release: {
    shape: z.strictObject({
      booth,
      to: z.enum(["released", "decommissioned"]).default("released"),
      wrong_serial: z.boolean().default(false),
    }),
    needs: "to is released or decommissioned, wrong_serial true or false",
  },
  filter_change: {
    shape: filterChange,
    needs: `id (8 to 64 characters) and filter (${FILTER_TYPES.join(", ")}) are needed; minutes_ago is 0 or more, part_number up to 60 characters, note up to 200`,
  },
  /** Corrects part number, note and person of an entered filter change. The earlier text is kept as a record. */
  filter_label: {
    shape: filterChange.pick({ booth: true, id: true, by: true, part_number: true, note: true }),
    needs: "id is needed: the one that the change was entered with; part_number up to 60 characters, note up to 200",
  },
  /** Erases a person's name from all filter changes. */
  filter_forget: { shape: z.strictObject({ booth, by: filled(100) }), needs: "by is needed: the name to erase" },
  /** Withdraws an entered filter change. */
  filter_undo: {
    shape: filterChange.pick({ booth: true, id: true, by: true }),
    needs: "id is needed: the one that the change was entered with",
  },
  /** Changes a booth's fields. `read`: the values that the person saw; `fields`: the new values. */
  booth_fields: {
    shape: z.strictObject({
      read: z.strictObject(Object.fromEntries(SIZES.map((name) => [name, size.nullable().optional()]))),
      fields: z
        .strictObject(Object.fromEntries(SIZES.map((name) => [name, size.min(1).optional()])))
        .refine((fields) => Object.keys(fields).length > 0),
    }),
    needs: "PUT {read, fields}: each up to 60 characters, at least one",
  },
  /** Probes a network address. `units`: the unit ids to try, written as on the command line. */
  probe: {
    shape: z.strictObject({ address: filled(255), units: upTo(200).optional() }),
    needs: "POST {address, units}: an address like 192.0.2.10 or 192.0.2.10:502",
  },
  /** Decodes a tag or an address of the booth's PLC in every word order. `expect`: the value on the PLC's display. */
  detect: {
    shape: z.strictObject({
      booth,
      at: filled(100),
      expect: upTo(40).optional(),
      unit: upTo(3).optional(),
    }),
    needs: "POST {booth, at, expect, unit}: a tag of the profile, or an address as a profile has it",
  },
  /** Sends a read request over a link of the agent. `pdu`: the Modbus PDU in hex. */
  plc_ask: {
    shape: z.strictObject({
      link: filled(300),
      unit: z.int().min(0).max(255),
      pdu: z.string().regex(/^(?:[0-9a-f]{2}){1,253}$/),
    }),
    needs: "POST {link, unit, pdu}: a link of /plc/links, a unit id, and a reading PDU in hex",
  },
  /** Adds a booth to the configuration, at first on trial. */
  set_up_booth: {
    shape: z.strictObject({
      id: upTo(32),
      profile: upTo(100).optional(),
      ...plcLink,
      tz: upTo(64).optional(),
    }),
    needs: "POST {id, profile, modbus or opcua, tz}: a booth as the configuration has it, without names of files",
  },
  /** Keeps or reverts the configuration on trial. */
  set_up_settled: { shape: z.strictObject({ keep: z.boolean() }), needs: "POST {keep}: true or false" },
  /** Sets the service's URL, and the API key for the first claim. */
  set_up_service: {
    shape: z
      .strictObject({ url: filled(2000).optional(), api_key: filled(4096).optional() })
      .refine(({ url, api_key }) => url !== undefined || api_key !== undefined),
    needs: "POST {url, api_key}: one of them at least",
  },
  /** Sets the password of a user at an OPC UA server. It is stored encrypted and never shown again. */
  set_up_login: {
    shape: z.strictObject({
      endpoint: filled(2000),
      user: filled(256),
      password: filled(1024),
    }),
    needs: "POST {endpoint, user, password}",
  },
  /** Stores the answers of an unfinished set-up, so that another session can continue. A draft never contains a key. */
  set_up_draft: {
    shape: z.strictObject({ draft: z.record(upTo(60), z.unknown()) }),
    needs: "PUT {draft}: names with values",
  },
  /** Searches for PLCs: in the box's own subnets, on its serial lines, or among the endpoints of an OPC UA server. */
  set_up_find: {
    shape: z.discriminatedUnion("where", [
      z.strictObject({ where: z.literal("subnets") }),
      z.strictObject({ where: z.literal("serial"), path: upTo(200).optional() }),
      z.strictObject({ where: z.literal("opcua"), endpoint: filled(2000) }),
    ]),
    needs: "POST {where}: subnets, serial, or opcua with its endpoint",
  },
  /** Ranks the profiles by how well they fit the device. `unit_id` absent: each profile's own unit id. */
  set_up_rank: {
    shape: z.strictObject({ ...plcLink, said: z.array(upTo(300)).max(20).default([]) }),
    needs: "POST {modbus or opcua, said}: a link, and what the device said it is",
  },
  /** Runs an action of the command `profile` with the command's options. */
  workshop_run: {
    shape: z.strictObject({
      action: z.enum(["new", "preview", "import", "browse", "add", "learn", "test", "export"]),
      what: upTo(200).optional(),
      profile: upTo(64).optional(),
      from: upTo(64).optional(),
      at: upTo(300).optional(),
      expect: upTo(100).optional(),
      type: upTo(100).optional(),
      with: upTo(500).optional(),
      modes: upTo(300).optional(),
      range: upTo(500).optional(),
      for: upTo(10).optional(),
      rate: upTo(10).optional(),
      columns: upTo(5_000).optional(),
      rows: upTo(20_000).optional(),
    }),
    needs:
      "POST {action, what, ...}: new, preview, import, browse, add, learn, test or export, with what the command takes",
  },
  workshop_answer: {
    shape: z.strictObject({ reply: upTo(200) }),
    needs: "POST {reply}: up to 200 characters",
  },
  /** Uploads a register list: a text, or any file in base64. */
  workshop_list: {
    shape: z.union([
      z.strictObject({ name: filled(100), text: filled(5_000_000) }),
      z.strictObject({ name: filled(100), base64: filled(6_700_000) }),
    ]),
    needs: "PUT {name, text} or {name, base64}: a list of at most 5 MB",
  },
  /** Derives all facts again from the log. `current`: with the present parameters. */
  rebuild: {
    shape: z.strictObject({ booth, current: z.boolean().default(false) }),
    needs: "POST {booth, current} starts a rebuild",
    may_be_empty: true,
  },
  /** Compares a day's figures with the service's. `day`: the local day; absent: the last finished day. */
  reconcile: {
    shape: z.strictObject({ booth, day: upTo(10).optional() }),
    needs: "POST {booth, day} begins a comparison, day as YYYY-MM-DD",
    may_be_empty: true,
  },
  help: {
    shape: z.strictObject({ subject: filled(200), message: upTo(4_000).default("") }),
    needs: "subject is needed, up to 200 characters; message up to 4000",
  },
  /** Signs in. `api_key`: the PIN that `booth-gateway page` printed. */
  authenticate: { shape: z.strictObject({ api_key: filled(100) }), needs: "api_key is needed: the PIN" },
  /** Creates a PIN for `for_ms`. `lan`: opens the page on the network for the same time. `close`: ends both. */
  page: {
    shape: z.strictObject({
      for_ms: z
        .int()
        .min(MINUTE_MS)
        .max(720 * MINUTE_MS)
        .default(30 * MINUTE_MS),
      lan: z.boolean().default(false),
      close: z.boolean().default(false),
    }),
    needs: "POST {for_ms, lan} opens the page for one minute to twelve hours, {close: true} closes it",
    may_be_empty: true,
  },
  /** Sends a test notice. `name`: the notice to test; absent: all notices. */
  notice_test: {
    shape: z.strictObject({ name: upTo(32).optional() }),
    needs: "POST {name}: of a notice; nothing for each",
    may_be_empty: true,
  },
  /** Opens the page on the network permanently, or closes it. `always`: true to keep it open, with the PIN that was set before. */
  page_network: { shape: z.strictObject({ always: z.boolean() }), needs: "PUT {always}: true or false" },
  /** Ends the session of a device. */
  page_session_end: { shape: z.strictObject({ id: upTo(40) }), needs: "POST {id}: of a device" },
} satisfies Readonly<Record<string, Body>>;

export type BodyName = keyof typeof BODIES;
export type BodyOf<N extends BodyName> = z.output<(typeof BODIES)[N]["shape"]>;

/** The result of a read over the agent's link: the PDU of the device's answer, or the failure of the link. */
export const localPlcAnswerShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answer"), pdu: z.string() }),
  z.object({ kind: z.literal("failed"), why: z.enum(LINK_ERROR_KINDS), message: z.string() }),
]);
export type LocalPlcAnswer = z.infer<typeof localPlcAnswerShape>;

/** The answer of `GET /plc/links` over the socket. */
export const localPlcLinksShape = z.object({
  links: z.array(z.object({ link: z.string(), units: z.array(z.number()) })),
});
