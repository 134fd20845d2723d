import { z } from "zod";
import { FILTER_TYPES } from "../domain/booth.ts";
import { LINK_ERROR_KINDS } from "../domain/link-error.ts";
import { boothFieldsShape } from "./booths.ts";
import { MINUTE_MS } from "../domain/time.ts";

/** By its name here; absent: the only one there is. */
const booth = z.string().max(60).optional();

const confirmation = z.strictObject({
  by: z.string().min(1).max(100),
  note: z.string().max(500).default(""),
  /** Also where another gateway holds the booth: this one takes its place. */
  replace: z.boolean().default(false),
  /** Which of the service's booths it is, where its answer leaves that open: by its id, or its place in the list (#2). */
  service_booth: z.string().min(1).max(200).optional(),
});

const filterChange = z.strictObject({
  booth,
  /** Made by whoever asks; the same again is the same entry. */
  id: z.string().min(8).max(64),
  filter: z.enum(FILTER_TYPES),
  minutes_ago: z.number().min(0).default(0),
  by: z.string().max(100).default(""),
  /** Of the filter that went in; kept on this box. */
  part_number: z.string().trim().max(60).default(""),
  note: z.string().trim().max(200).default(""),
});

/** A PLC's link as it is set up on the spot. Nothing here names a file: what a person types must not have one read. */
const plcLink = {
  modbus: z
    .strictObject({
      host: z.string().min(1).max(253).optional(),
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
      endpoint: z.string().max(2000),
      security_policy: z.string().max(60).optional(),
      /** Whose password was given by itself, and is in no entry. */
      user: z.string().min(1).max(256).optional(),
      allow_insecure: z.boolean().optional(),
      server_certificate_fingerprint: z.string().max(200).optional(),
    })
    .optional(),
};

const SIZES = Object.keys(boothFieldsShape.shape);
const size = z.string().max(60);

interface Body {
  readonly shape: z.ZodType;
  /** The sentence for who sent something else. */
  readonly needs: string;
  /** Nothing at all counts as {}. */
  readonly may_be_empty?: true;
}

/** By the name that the table of operations gives them. */
export const BODIES = {
  /** The technician's entry. */
  claim: {
    shape: z.strictObject({
      serial_number: z.string().min(1).max(60),
      booth,
      confirm: confirmation.optional(),
      /** The key that the claim is made with, where none was installed. */
      api_key: z.string().min(1).max(4096).optional(),
    }),
    needs: "serial_number is needed",
  },
  /** Of the service's fields those that a technician may set here. */
  binding: {
    shape: z
      .strictObject({
        status: z.enum(["released", "decommissioned"]).optional(),
        /** "wrong_serial": the number was mistyped, what was sent goes back. */
        reason: z.string().max(200).optional(),
        completion_status: z.enum(["IN PROGRESS", "COMPLETE"]).optional(),
      })
      .refine(({ status, completion_status }) => status !== undefined || completion_status !== undefined),
    needs: "status (released or decommissioned) or completion_status is needed; the other fields are the service's",
  },
  /** The card was compared. */
  confirm: { shape: confirmation.extend({ booth }), needs: "by is needed: who compared the booth with the card" },
  /** The booth is given up. `wrong_serial`: the number was mistyped, what was sent goes back. */
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
  /** That entry is withdrawn. */
  filter_undo: {
    shape: filterChange.pick({ booth: true, id: true, by: true }),
    needs: "id is needed: the one that the change was entered with",
  },
  /** `read` is what the person saw, `fields` what they want instead. */
  booth_fields: {
    shape: z.strictObject({
      read: z.strictObject(Object.fromEntries(SIZES.map((name) => [name, size.nullable().optional()]))),
      fields: z
        .strictObject(Object.fromEntries(SIZES.map((name) => [name, size.min(1).optional()])))
        .refine((fields) => Object.keys(fields).length > 0),
    }),
    needs: "PUT {read, fields}: each up to 60 characters, at least one",
  },
  /** What answers at an address. `units`: ids to try, as the command takes them. */
  probe: {
    shape: z.strictObject({ address: z.string().min(1).max(255), units: z.string().max(200).optional() }),
    needs: "POST {address, units}: an address like 192.0.2.10 or 192.0.2.10:502",
  },
  /** A tag or an address of the booth's PLC in every order. `expect`: what its display shows. */
  detect: {
    shape: z.strictObject({
      booth,
      at: z.string().min(1).max(100),
      expect: z.string().max(40).optional(),
      unit: z.string().max(3).optional(),
    }),
    needs: "POST {booth, at, expect, unit}: a tag of the profile, or an address as a profile has it",
  },
  /** One read over a link that the agent holds. `pdu`: hex, as the protocol has it. */
  plc_ask: {
    shape: z.strictObject({
      link: z.string().min(1).max(300),
      unit: z.int().min(0).max(255),
      pdu: z.string().regex(/^(?:[0-9a-f]{2}){1,253}$/),
    }),
    needs: "POST {link, unit, pdu}: a link of /plc/links, a unit id, and a reading PDU in hex",
  },
  /** An entry of the configuration, as set up on the spot; it is tried first. */
  set_up_booth: {
    shape: z.strictObject({
      id: z.string().max(32),
      profile: z.string().max(100).optional(),
      ...plcLink,
      tz: z.string().max(64).optional(),
    }),
    needs: "POST {id, profile, modbus or opcua, tz}: a booth as the configuration has it, without names of files",
  },
  /** What is on trial stays, or goes back. */
  set_up_settled: { shape: z.strictObject({ keep: z.boolean() }), needs: "POST {keep}: true or false" },
  /** Where the service is, and the key of the first claim. */
  set_up_service: {
    shape: z
      .strictObject({ url: z.string().min(1).max(2000).optional(), api_key: z.string().min(1).max(4096).optional() })
      .refine(({ url, api_key }) => url !== undefined || api_key !== undefined),
    needs: "POST {url, api_key}: one of them at least",
  },
  /** The password of a user at an OPC UA server: kept sealed, and told to nobody again. */
  set_up_login: {
    shape: z.strictObject({
      endpoint: z.string().min(1).max(2000),
      user: z.string().min(1).max(256),
      password: z.string().min(1).max(1024),
    }),
    needs: "POST {endpoint, user, password}",
  },
  /** The answers so far, for whoever goes on with them; never a key. */
  set_up_draft: {
    shape: z.strictObject({ draft: z.record(z.string().max(60), z.unknown()) }),
    needs: "PUT {draft}: names with values",
  },
  /** Looks for PLCs: in the box's own subnets, on its serial lines, or what an OPC UA server offers. */
  set_up_find: {
    shape: z.discriminatedUnion("where", [
      z.strictObject({ where: z.literal("subnets") }),
      z.strictObject({ where: z.literal("serial"), path: z.string().max(200).optional() }),
      z.strictObject({ where: z.literal("opcua"), endpoint: z.string().min(1).max(2000) }),
    ]),
    needs: "POST {where}: subnets, serial, or opcua with its endpoint",
  },
  /** Which profile fits what is there. `unit_id` absent: each profile's own. */
  set_up_rank: {
    shape: z.strictObject({ ...plcLink, said: z.array(z.string().max(300)).max(20).default([]) }),
    needs: "POST {modbus or opcua, said}: a link, and what the device said it is",
  },
  /** An action of the profile workshop, with what the command of that name takes. */
  workshop_run: {
    shape: z.strictObject({
      action: z.enum(["new", "import", "browse", "add", "learn", "test", "export"]),
      what: z.string().max(200).optional(),
      profile: z.string().max(64).optional(),
      from: z.string().max(64).optional(),
      at: z.string().max(300).optional(),
      expect: z.string().max(100).optional(),
      type: z.string().max(100).optional(),
      with: z.string().max(500).optional(),
      modes: z.string().max(300).optional(),
      range: z.string().max(500).optional(),
      for: z.string().max(10).optional(),
      rate: z.string().max(10).optional(),
    }),
    needs: "POST {action, what, ...}: new, import, browse, add, learn, test or export, with what the command takes",
  },
  workshop_answer: {
    shape: z.strictObject({ reply: z.string().max(200) }),
    needs: "POST {reply}: up to 200 characters",
  },
  /** A register list, as a text. */
  workshop_list: {
    shape: z.strictObject({ name: z.string().min(1).max(100), text: z.string().min(1).max(5_000_000) }),
    needs: "PUT {name, text}: a list of at most 5 MB",
  },
  /** `current`: with today's parameters. */
  rebuild: {
    shape: z.strictObject({ booth, current: z.boolean().default(false) }),
    needs: "POST {booth, current} starts a rebuild",
    may_be_empty: true,
  },
  /** `day`: local, absent: the last finished one. */
  reconcile: {
    shape: z.strictObject({ booth, day: z.string().max(10).optional() }),
    needs: "POST {booth, day} begins a comparison, day as YYYY-MM-DD",
    may_be_empty: true,
  },
  help: {
    shape: z.strictObject({ subject: z.string().min(1).max(200), message: z.string().max(4_000).default("") }),
    needs: "subject is needed, up to 200 characters; message up to 4000",
  },
  /** The PIN that `booth-gateway page` printed. */
  authenticate: { shape: z.strictObject({ api_key: z.string().min(1).max(100) }), needs: "api_key is needed: the PIN" },
  /** A new PIN for `for_ms`; `lan`: and the page on the network for as long. `close`: neither any more. */
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
  /** `name` absent: each. */
  notice_test: {
    shape: z.strictObject({ name: z.string().max(32).optional() }),
    needs: "POST {name}: of a notice; nothing for each",
    may_be_empty: true,
  },
  /** `always`: the page stays open on the network, by the PIN that was set beforehand. */
  page_network: { shape: z.strictObject({ always: z.boolean() }), needs: "PUT {always}: true or false" },
  /** A device signs in anew. */
  page_session_end: { shape: z.strictObject({ id: z.string().max(40) }), needs: "POST {id}: of a device" },
} satisfies Readonly<Record<string, Body>>;

export type BodyName = keyof typeof BODIES;
export type BodyOf<N extends BodyName> = z.output<(typeof BODIES)[N]["shape"]>;

/** What came of a read over the agent's link: the answer's PDU, or how the link failed. */
export const localPlcAnswerShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("answer"), pdu: z.string() }),
  z.object({ kind: z.literal("failed"), why: z.enum(LINK_ERROR_KINDS), message: z.string() }),
]);
export type LocalPlcAnswer = z.infer<typeof localPlcAnswerShape>;

/** `GET /plc/links` over the socket. */
export const localPlcLinksShape = z.object({
  links: z.array(z.object({ link: z.string(), units: z.array(z.number()) })),
});
