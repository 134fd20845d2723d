import { CERTIFICATES } from "./sentences/certificates.ts";
import { CONFIGURATION } from "./sentences/configuration.ts";
import { DOCTOR } from "./sentences/doctor.ts";
import { OUTPUTS } from "./sentences/outputs.ts";
import { DETECT, TAGS, WORKSHOP } from "./sentences/workshop.ts";

/**
 * The texts of the agent for people, by code (by subject in `sentences/`). The code passes codes and arguments; logs, the command
 * line and the service get the English text, and the pages of the local API translate code and arguments into other languages. A
 * code never changes its meaning. {name} is replaced by the argument.
 */
const KEPT = "readings are kept and sent when the link is back";
const ASK = "ask whoever runs the service whether its data, or this box's, was put back from an old copy";

const OWN = {
  // Advice for a link to a PLC.
  "plc.check.refused": "check the PLC's power, the cable, and address and port in the configuration",
  "plc.check.timeout": "check the cable and the unit id; another master may hold the PLC's only connection",
  "plc.check.reset": "the PLC broke the connection off: another master may hold its only connection",
  "plc.check.malformed": "check that address and port belong to the PLC and nothing else answers there",
  "plc.check.closed": "nothing to do: the PLC closed the connection, a new one is made",
  "plc.check.busy": "nothing to do: the PLC asks to come back later",
  "plc.check.path": "check the serial line behind the Modbus gateway and the unit id",
  "plc.check.config": "correct the configuration as the reason says",
  "plc.check.tags": 'compare their addresses in the profile with the PLC\'s manual; "booth-gateway detect TAG" helps',
  "plc.check.transaction":
    "if each try shows this, the device counts by itself: set transaction_id_offset: {offset} in the booth's modbus section; else something on the way mixes up answers",
  "plc.check.unit_0":
    "the device answers as unit 0: set answer_unit_id: 0 in the booth's modbus section, or unit_id: 0 if it is the device's own",
  // Advice for a serial line.
  "plc.line.refused":
    "check that the adapter is plugged in, that the path of the port is right, and that no other program uses it",
  "plc.line.timeout":
    "check the PLC's power, the two wires (swapped they are silent), unit id, baud rate, parity and stop bits",
  "plc.line.reset": "check the adapter and its USB plug",
  "plc.line.malformed":
    "check baud rate, parity and stop bits, and that no two devices on the line have the same unit id",
  "plc.line.closed": "check the adapter and its USB plug; the port is opened again by itself",
  "plc.check.values":
    'compare type and address of the tag in the profile with the PLC\'s program; "booth-gateway tags" shows what is read',
  "plc.check.sensor": "check the sensor and its wiring, then type, scale and limits of the tag in the profile",
  "plc.check.losses":
    "check cable, shield, plugs, and the switch or converter in between; another master may ask the PLC too often",
  "plc.check.serial":
    "check that cable and address lead to this booth's own PLC; if they do, confirm the booth again (booth-gateway provision), or correct the number in the PLC",

  "reconcile.differs": "{figure} is {gateway} here, {service} there",

  // Why a link to a PLC is down, or not as good as it could be.
  "plc.not_yet": "not connected yet",
  "plc.refuses_one": "the device refuses the tag {tag}",
  "plc.refuses": "the device refuses {count} tags: {tags}",
  "plc.refuses_more": "the device refuses {count} tags: {tags} and {more} more",
  "plc.unusable_type":
    "the tag {tag} holds another type of value than the profile says: an array, a text or another number type",
  "plc.unusable_empty": "the PLC sends no value for the tag {tag} ({why})",
  "plc.unusable_one": "the tag {tag} has had no usable value for several polls ({why})",
  "plc.unusable": "{count} tags have had no usable value for several polls: {tags}",
  "plc.unusable_more": "{count} tags have had no usable value for several polls: {tags} and {more} more",
  "plc.losses": "{missed} of the last {asked} requests brought no right answer; most are made up for by asking again",
  "plc.note.closes_one":
    "the device closes the connection after each answer: each request has a connection of its own; nothing to do",
  "plc.note.closes":
    "the device closes each connection after {count} answers: a new one is made each time; nothing to do",
  "plc.note.echo":
    "the adapter sends requests back: {count} echoes were skipped; switch its echo off if it has a switch",
  "plc.note.stray":
    "{count} stray bytes around answers were skipped; check ground, termination and bias resistors of the line",
  "plc.foreign":
    "the PLC shows serial number {shown}, this booth is {expected}: what it says is not counted for this booth",
  "plc.no_within": "no {what} within {ms} ms",
  "plc.connection.refused": "{at}: ECONNREFUSED",
  "plc.connection.reset": "{at}: ECONNRESET",
  "plc.connection.unreachable": "{at}: EHOSTUNREACH",
  "plc.connection.no_network": "{at}: ENETUNREACH",
  "plc.connection.unknown": "{at}: ENOTFOUND",
  "plc.connection.timeout": "{at}: ETIMEDOUT",
  "plc.connect.refused": "connect ECONNREFUSED {at}",
  "plc.connect.unreachable": "connect EHOSTUNREACH {at}",
  "plc.connect.no_network": "connect ENETUNREACH {at}",
  "plc.connect.timeout": "connect ETIMEDOUT {at}",
  "plc.connect.broken": "read ECONNRESET",
  "plc.busy": "the device is busy (exception 6)",
  "plc.busy_unit": "unit {unit} hasn't answered just now; try again in a moment",
  "plc.busy_tools": "too many tools ask at once; try again",
  "plc.no_path": "the gateway in between has no path to the device (exception 10)",
  "plc.behind_silent": "the device behind the gateway doesn't answer (exception 11)",
  "plc.closed.device": "the device closed the connection",
  "plc.closed.server": "the server closed the connection",
  "plc.closed.gateway": "closed by the gateway",
  "plc.closed.closed": "the connection is closed",
  "plc.closed.not_open": "the connection is not open",
  "plc.closed.given_up": "given up by the gateway",
  "plc.closed.stopping": "the agent is stopping",
  "plc.closed.shared": "the connection that booths share was made anew",
  "plc.closed.after": "made anew after: {reason}",
  "plc.odd.unasked": "{count} bytes that nobody asked for",
  "plc.odd.too_long": "more bytes than any answer has",
  "plc.odd.answer": "an answer that can't be understood",
  "plc.odd.hello": "the answer to the hello is none of OPC UA",
  "plc.opcua.room": "the server has no room for another session ({name})",
  "plc.opcua.session_ended": "the server has ended the session ({name})",
  "plc.opcua.subscription_ended": "the server has ended the subscription ({name})",
  "plc.opcua.namespaces": "the server's namespaces have changed: its variables are looked up anew",
  "plc.opcua.nothing": "the server has none of the profile's variables: is the PLC's program loaded?",
  "plc.opcua.endless":
    "the server's list of what is in {folder} has no end: it promises more again and again and sends nothing new",
  "plc.opcua.no_read": "the server answers no read in time",
  "plc.opcua.slow": "the server takes too long over several variables",
  "plc.opcua.wants_login": "the server wants a login: set opcua.user and opcua.password_file",
  "plc.opcua.no_password_login": "the server offers no login by user and password",
  "plc.opcua.no_certificate_login": "the server offers no login by certificate",
  "plc.opcua.refuses_us":
    "the server refuses the gateway's certificate ({name}): trust the gateway's certificate in the server",
  "plc.opcua.expired": "the server's certificate expired on {since}: make a new one in the PLC and pin it",
  "plc.opcua.no_password":
    "the service's record holds no password of this PLC yet: enter the booth's serial number, or set opcua.password_file",

  // Advice for the link to the service.
  "service.check.unknown_host": `compare the address with the service's, and see to the site's name server; ${KEPT}`,
  "service.check.unreachable": `nothing to do where the network is being worked on; else see whether a firewall holds the port back; ${KEPT}`,
  "service.check.unanswered": `nothing to do where the broker is starting anew; else see whether MQTT is switched on at that port, and what the broker's own log says; ${KEPT}`,
  "service.check.certificate_expired": `the service's certificate has ended: tell whoever runs the service; compare this box's date; ${KEPT}`,
  "service.check.certificate_not_yet_valid": `compare this box's date with a clock, then the service's certificate; ${KEPT}`,
  "service.check.certificate_name": `the certificate is of another server: compare the address, and see whether the site's network redirects it; ${KEPT}`,
  "service.check.certificate_authority": `nobody known here signed the certificate: where the site looks into TLS, give its authority as service.ca_file; ${KEPT}`,
  "service.check.certificate_chain": `tell whoever runs the service to send the whole chain, or give the intermediate or the authority as service.ca_file; ${KEPT}`,
  "service.check.certificate_refused": `have a certificate issued that fits its use by a server: tell whoever runs the service; ${KEPT}`,
  "service.check.certificate_wanted": `the service asks for a client certificate, or doesn't take ours: see service.client_certificate_file; ${KEPT}`,
  "service.check.tls": `see whether something on the way looks into TLS, or offers a version before 1.2; ${KEPT}`,
  "service.check.not_tls": `compare the port, and see whether TLS is switched on there; ${KEPT}`,
  "service.check.file": `correct the file that the reason names; it is read again at the next try; ${KEPT}`,
  "service.check.credential": `the service doesn't take this gateway's key: see whether it was revoked; ${KEPT}`,
  "service.check.not_allowed": `the broker doesn't allow this gateway its own topics: tell whoever runs the service; ${KEPT}`,
  "service.check.taken_over": `another box uses this gateway's identity, as a copied disk does: take it off the network; ${KEPT}`,
  "service.check.limit": `raise the broker's limit (mosquitto: max_packet_size, max_qos, retain_available); ${KEPT}`,
  "service.check.protocol": `what answers there is no broker as it should be: compare the address; ${KEPT}`,
  "service.check.closed": `nothing to do: ${KEPT}`,

  // Why the link to the service is down.
  "service.no_booth": "no booth is bound: nothing to deliver",
  "service.no_booth_todo": "it connects by itself once a booth is bound",
  "service.gone": "the connection to the broker is gone",
  "service.unreachable": "the broker can't be reached",
  "service.unanswered": "the broker took the connection and closed it without an answer",
  "service.no_subscription": "the broker doesn't answer the subscription",
  "service.refuses_subscription": "the broker refuses the subscription: {reason}",
  "service.refuses_topic": "the broker's access rules don't let this user publish on {topic}",
  "service.message_too_long":
    "the message on {topic} has {bytes} bytes, and the broker takes packets of at most {limit} bytes",
  "service.no_qos_1": "the broker takes QoS 0 only, so that it cannot confirm readings",
  "service.puback": "the broker did not take the message on {topic} (reason code {code})",
  "service.taken_over": "another box has connected to the broker with this gateway's identity",
  "service.ended": "the broker ended the session (reason {code})",
  "service.no_broker": "the service names no broker",
  "service.packet_too_long": "the broker sent a packet too long",
  "service.qos_2": "the broker sent a message of QoS 2, which nobody here has asked for",
  "service.floods": "the broker sends more in a second than anybody here has asked for",
  "service.no_ack": "no ack in time",
  "service.took_nothing": "the service took nothing: {reason}",
  "service.strange": "the answer ({status}) isn't the service's: is something in between?",
  "service.answered": "the service answered {status}",
  "service.away": "the service can't be reached: {reason}",
  "service.no_key": "this gateway has no key for the service yet",
  "service.unknown_name": "getaddrinfo ENOTFOUND {host}",
  "service.name_later": "getaddrinfo EAI_AGAIN {host}",

  // Binding.
  "bind.enter": "enter the booth's serial number",
  "bind.kept": "nothing to do: readings are kept and it is tried again by itself",
  "bind.again": "it is tried again by itself",
  "bind.unknown": "the service knows no booth with serial number {serial}",
  "bind.unknown_todo":
    "compare it with the nameplate (O and 0, I and 1) and enter it again, or have the office add the booth",
  "bind.key_refused": "the service refused the key: {reason}",
  "bind.key_refused_todo": "give a key that may provision booths of this account",
  "bind.lost":
    "the gateway's identity was lost, and with it its bindings and its key (identity.db and its copy were empty or damaged)",
  "bind.lost_todo":
    "readings go on being kept; bind the booth again with a key that may provision: booth-gateway provision SERIAL --replace --key-file FILE",
  "bind.key_refuses": "the service refuses the key: {reason}",
  "bind.revoked":
    "give another key: put it in the place of the old one, or enter the serial number again with it (--key-file); readings go on being kept",
  "bind.held": "bound to another gateway ({holder}, last seen {seen})",
  "bind.held_todo":
    "check the serial number; if the gateway that holds the booth is broken or gone, enter it again and let this one take its place (--replace)",
  "bind.rests": "the gateway that holds the booth was heard of a moment ago",
  "bind.rests_todo": "switch it off: once it has been silent for 10 min this one takes its place by itself",
  "bind.incomplete": "the service doesn't let the booth be marked as complete: {reason}",
  "bind.ask_record": "ask whoever runs the service about the booth's provisioning record; it is tried again by itself",
  "bind.compare": "compare booth and facility, then confirm",
  "bind.compare_or_again": "compare booth and facility, then confirm, or enter the serial number again",
  "bind.other_booth": "the service knows serial number {serial} as booth {booth}, not as {said}",
  "bind.several": "the service has {count} booths with serial number {serial}: {names}",
  "bind.found_one": "the service doesn't repeat the serial number; its search found one booth, {name}",
  "bind.found_several": "the service doesn't repeat the serial number; its search found {count} booths: {names}",
  "bind.choose": "choose the one that this box stands beside (--booth ID)",
  "bind.stays": "the service refuses to end the binding: {reason}",
  "bind.stays_todo": "it is tried again by itself; the office can release the booth as well",
  "bind.taken": "another gateway ({holder}) has taken this booth over",
  "bind.taken_todo":
    "nothing to do: what was recorded before is still delivered; to have the booth back, enter its serial number again",
  "bind.ended": "the service has ended the binding ({status})",
  "bind.ended_todo": "to bind the booth again, enter its serial number",
  "bind.ended_wipe_todo":
    'if that is wrong, have the record corrected within 24 hours, or enter the serial number again: else keys and acknowledged data are wiped then; to wipe them at once, run "sudo booth-gateway decommission"',
  "bind.unverified": "not verified within 15 min: {missing}",
  "bind.missing.link": "the service link isn't up",
  "bind.missing.ack": "no batch was acked",
  "bind.missing.answer": "the service doesn't answer for this booth",
  "bind.missing.complete": "the service doesn't show the booth as complete",
  "bind.missing.record": "the service names another gateway",

  // The log and its names at the service.
  "log.ask": ASK,
  "log.ask_by_itself": `${ASK}; readings go on being kept, and delivery goes on by itself once the service takes them`,
  "log.conflict":
    "the service says that it holds other records than this box {seqs}: readings wait until the service takes them, or until {at} UTC, when the log gets another name there",
  "log.other_records": "the service holds other records from seq {seq} on: the log goes on under another name",
  "log.forked":
    "the service held other records than this box {seqs}: since {at} UTC the log goes under another name there",
  "log.seqs_on": "from seq {from} on",
  "log.seq": "under seq {from}",
  "log.seqs": "under seq {from} to {to}",
  "log.too_long": "records too long to be sent: {count}; the newest, {seq}: {reason}",
  "log.too_long_todo":
    "raise the broker's maximum packet size (mosquitto: max_packet_size), or ask whoever runs the service; these records wait, all others are sent",
  "log.missing_one": "{count} record is missing, damaged in the store",
  "log.missing": "{count} records are missing, damaged in the store",
  "log.missing_one_at": "{count} record is missing, damaged in the store: seq {seqs}",
  "log.missing_at": "{count} records are missing, damaged in the store: seq {seqs}",
  "log.missing_newest_at": "{count} records are missing, damaged in the store: the newest of them seq {seqs}",
  "booth.correct":
    'correct it, try it with "booth-gateway check", then "booth-gateway reload"; the other booths run meanwhile',

  // Certificates.
  "certificate.own_service": "put a new one into service.client_certificate_file; it is read at the next connection",
  "certificate.service": "tell whoever runs the service",
  "certificate.own_opcua":
    "the next connection to an OPC UA server makes a new one: restart the agent, then let each PLC trust it",
  "certificate.opcua": "renew it in the PLC and pin the new one",

  // Settings on trial.
  "trial.unread": "the PLC at {address} wasn't read within 2 min: {reason}; {advice}",
  "trial.not_run": "the booth didn't run with it",
  "trial.somebody": "somebody took it back",
  "trial.stopped": "the agent stopped while it was tried",

  // Incidents.
  "incident.between": "{value} {unit} is outside {min} to {max}",
  "incident.stuck": "the value has been {value} for {minutes} min in use",
  "incident.monotonic":
    "went from {from} to {to}, which is neither counting, a known wrap nor a reset: nothing was booked",
  "incident.memory_loss": "counters fell with a restart of the PLC: {tags}; usage goes on from before",
  "incident.mismatch": "over the day the PLC counted {plc}, {own} were derived",
  "incident.zone": "the time zone {tz} isn't known: UTC is taken",
  "incident.unit":
    'the unit "{unit}" does not fit the role {role}: the tag is recorded, but no figure is made of it; correct the unit in the profile',
  "incident.plc_clock_ahead": "the PLC's clock is {seconds} s ahead",
  "incident.plc_clock_behind": "the PLC's clock is {seconds} s behind",
  "incident.server_clock_ahead": "the server's clock is {seconds} s ahead",
  "incident.server_clock_behind": "the server's clock is {seconds} s behind",
  "incident.clock_put": "the gateway's clock was put by {seconds} s",
  "incident.cold_bake": "bake is under {celsius} C after 20 min",
  "incident.no_fan": "the fan is off in spray",
  "incident.no_airflow": "the burner is on without airflow",
  "incident.open_door": "the door has been open in bake for over 2 min",
  "incident.transition": "{next} followed on {mode}",
  "incident.short_purge": "purge took {seconds} s before a bake",
  "incident.long": "{mode} has lasted for over {hours} h",
  "incident.gap": "the booth wasn't read for over {minutes} min of its working hours",
  "incident.unmapped": "the profile doesn't map the mode code {raw}",
  "incident.mode_conflict": "two modes of the process are on at once: {raw}",

  "incident.sentinel": "the device shows the raw value that means: no value",
  "incident.nan": "the device shows a float that is no number",
  "incident.inf": "the device shows an infinite float",
  "incident.not_bcd": "the register holds digits that are none",
  "incident.below_min": "the value lies below what the tag can be",
  "incident.above_max": "the value lies above what the tag can be",
  "incident.all_zero": "every register of the block turned 0 at once: held for two polls",
  "incident.torn": "the counter fell or ran, and a second read at once didn't agree with the first",
  "incident.tail_damaged":
    "{count} entries of the tail file were damaged: polls taken before the last stop are missing",
  "incident.store_damaged": "the store was salvaged or imported into a new file: {count} records are missing",

  // The store's disk and file.
  "disk.damaged": "the store's file is damaged ({detail}): it is being salvaged into a new one",
  "disk.unsure":
    "the disk doesn't confirm what was written ({detail}): the store is written anew; replace the card if it goes on",
  "disk.full": "the disk is full ({detail}): free space on it",
  "disk.read_only": "the disk takes no writes ({detail}): check whether it is mounted read-only or worn out",

  // How well a profile fits a PLC.
  "fit.unread": "it can't be read by this profile: {reason}",
  "fit.named": 'the device calls itself "{name}"',
  "fit.tags": "{answering} of {count} tags answer, {plausible} read as they should",
  "fit.mode": "{label} reads {value}: {mode}",
  "fit.odd": "{label} reads {value} {unit}, usual is {usual}",
  "fit.more_odd": "{count} more values are odd",

  // An unexpected error in a comparison, an output or a notice.
  "operation.failed": "unexpected error: {error}",
  "operation.retried": "nothing to do: it is retried; if it stays, make a support bundle and report it",

  // Notices: why one doesn't get through, and what to do about it.
  "notice.server_says": "the server says: {answer}",
  "notice.broker_has_it": "the broker has it ({topic})",
  "notice.check.unknown_host": "compare the server's address, and see to the site's name server",
  "notice.check.unreachable": "see whether the server runs, and whether a firewall holds the port back",
  "notice.check.certificate_time":
    "the server's certificate has ended, or isn't valid yet: renew it, and compare this box's date",
  "notice.check.certificate_name": "the certificate is of another server: give the name that it is made for",
  "notice.check.certificate_chain":
    "let the server send its whole chain, or give the intermediate or the authority as ca_file",
  "notice.check.certificate_refused":
    "have a certificate issued that fits its use by a server, then install it on the server",
  "notice.check.not_tls": "compare the port, and see whether TLS is switched on there",
  "notice.check.certificate_authority":
    "nobody known here signed the server's certificate: give its authority as ca_file",
  "notice.check.tls":
    "update the server or its TLS settings; for mail compare tls and port: starttls is usual on 587, tls on 465",
  "notice.check.credential": "the server doesn't let us in: see user and password_file, or secret_file",
  "notice.check.topic":
    "allow this user to publish on that topic in the broker's access rules (mosquitto: acl_file), or choose another topic",
  "notice.check.limit": "raise the broker's limit (mosquitto: max_packet_size)",
  "notice.check.refused": "the server won't take it so: see what it says, and the addresses in the configuration",
  "notice.check.later": "nothing to do: the server asks to come back later",
  "notice.check.file": "correct the file that the reason names; it is read again at the next try",
  "notice.check.closed": "see what the server's own log says",
  "notice.none": 'no notice is configured: see notices in the configuration, then "booth-gateway reload"',
  "notice.unknown": "there is no notice {name}: {names}",

  // Refusals of the local server.
  "ask.wrong_pin": "that isn't the PIN; {left} more tries, then it is locked",
  "ask.wrong_pin_last": "that isn't the PIN; one more try, then it is locked",
  "ask.locked": 'locked after too many wrong PINs: wait {minutes} min, or get a new PIN with "booth-gateway page"',
  "ask.pin_later": "too many PINs are tried at once: wait a moment, then try again",
  "ask.pin_much_later":
    'too many wrong PINs: wait {minutes} min, or get a PIN of its own with "booth-gateway page" on this box',
  "ask.no_device": "no such device is signed in",
  "ask.network_fixed": "page.network stands in {file}, which wins: change it there, then restart the agent",
  "ask.network_no_pin":
    "no PIN is set beforehand: put one of 8 digits or more into a file of mode 0600 and name it as page.pin_file",
  "ask.no_pin": 'no PIN is in force: get one with "booth-gateway page" on this box',
  "ask.no_session":
    'not signed in: POST /api/authenticate with the PIN that "booth-gateway page" prints, then send its token',
  "ask.too_many": "too many requests",
  "ask.too_many_pages": "too many pages are open; close one",
  "ask.serial": "a serial number has letters, digits and single dashes, like ABCD-123-123",
  "ask.bound":
    '{booth} is bound as {bound}: give that up first ("booth-gateway release --wrong-serial" where it was mistyped), then enter {serial}',
  "ask.moved": "somebody else has changed {fields} meanwhile: read them again",
  "ask.forgotten": "the service doesn't know this booth any more",
  "ask.refused": "the service refuses: {reason}",
  "ask.on_trial": "a change is being tried: wait for it, or say whether it stays",
  "ask.fixed": '{what} stands in {file}, which wins: change it there, then "booth-gateway reload"',
  "ask.bound_service": "a booth is bound at the service: give it up first, then enter another service",
  "ask.key_host":
    'the key on this gateway is for the service at {url} and is not sent elsewhere: enter a key of the new service together with its address, or run "sudo booth-gateway setup" as root',
  "ask.booth_name": "a booth's name has lower-case letters, digits and dashes, like booth-1",
} as const;

/** A dictionary from its first key on: spread into one literal, hundreds of keys took each thread 14 ms of its start. */
const configured = Object.assign(Object.create(null) as object, OWN, OUTPUTS, CONFIGURATION);
const workshop = Object.assign(configured, WORKSHOP, TAGS, DETECT);
export const SENTENCES = Object.assign(workshop, DOCTOR, CERTIFICATES);

export type SentenceCode = keyof typeof SENTENCES;

/** The {names} of a text. */
type Names<T extends string> = T extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type Values<C extends SentenceCode> = Readonly<Record<Names<(typeof SENTENCES)[C]>, string | number>>;

/** A sentence in English, filled in. Made when it is said, not for each reading: it costs a microsecond. */
export function say<C extends SentenceCode>(
  code: C,
  ...[values]: Names<(typeof SENTENCES)[C]> extends never ? [] : [Values<C>]
): string {
  const given: Readonly<Record<string, string | number>> = values ?? {};
  return SENTENCES[code].replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(given[name] ?? whole));
}
