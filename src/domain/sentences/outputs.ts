const STAYS = "readings are kept, and go there when it is back";

/** Texts about brokers and collectors of the site, shared PLC connections, and network traffic. */
export const OUTPUTS = {
  "output.no_confirm": "the broker doesn't confirm what it was sent",
  "output.closed": "the connection to the broker was closed",
  "output.host_gone": "the primary host {id} has gone offline",
  "output.host_away": "connected; the primary host {id} isn't online",
  "output.host_other": "connected; the primary host {id} has published no state, but these hosts have: {seen}",
  "output.host_other_todo": "correct primary_host_id if it is misspelled; nothing is sent before that host is online",
  "output.figures_plain": "the collector rejects gzip, so figures are sent uncompressed",
  "output.host_todo": "nothing to do: all is kept until it is back",
  "shared.not_yet": "not listening yet",
  "shared.check": "give another port or address, or end what holds it; it is tried again",
  "output.skipped": "messages skipped: {count}; the last one: {reason}",
  "output.check.skipped_too_long":
    "raise the broker's maximum packet size (mosquitto: max_packet_size); all shorter messages are sent",
  "output.check.skipped_refused":
    "allow this user to publish on that topic in the broker's access rules (mosquitto: acl_file); all other topics are sent",
  "output.check.unknown_host": `compare the address with the broker's; ${STAYS}`,
  "output.check.unreachable": `see whether the broker runs, and whether a firewall holds the port back; ${STAYS}`,
  "output.check.unanswered": `see whether MQTT is switched on at that port, and try the other mqtt_version; ${STAYS}`,
  "output.check.certificate_expired": `the broker's certificate has ended: renew it; ${STAYS}`,
  "output.check.certificate_not_yet_valid": `compare this gateway's date with a clock, then the server's certificate; ${STAYS}`,
  "output.check.certificate_name": `the certificate is of another server: compare the address; ${STAYS}`,
  "output.check.certificate_authority": `nobody known here signed the broker's certificate: give its authority as ca_file; ${STAYS}`,
  "output.check.certificate_chain": `let the server send its whole chain, or give the intermediate or the authority as ca_file; ${STAYS}`,
  "output.check.certificate_refused": `have a certificate issued that fits its use by a server; ${STAYS}`,
  "output.check.tls": `update the server or its TLS settings; ${STAYS}`,
  "output.check.not_tls": `compare the port, and see whether TLS is switched on there; ${STAYS}`,
  "output.check.file": `correct the file that the reason names; it is read again at the next try; ${STAYS}`,
  "output.check.certificate_wanted": `give a client certificate that the broker can verify, with its intermediates: see client_certificate_file; ${STAYS}`,
  "output.check.credential": `the broker doesn't take user or password: see user and password_file; ${STAYS}`,
  "output.check.not_allowed": `the broker doesn't allow these topics to this user; ${STAYS}`,
  "output.check.limit": `raise the broker's limit (mosquitto: max_packet_size, max_qos, retain_available); ${STAYS}`,
  "output.check.taken_over": `another client uses the same client_id: give this output another; ${STAYS}`,
  "output.kept": STAYS,

  // Savings when the month's data budget is nearly used up.
  "traffic.heartbeats":
    "{used} MB of this month's {budget} MB are used: heartbeats go every 110 s (from 70 % of the budget on)",
  "traffic.batches":
    "{used} MB of this month's {budget} MB are used: heartbeats go every 110 s, and readings in batches of 10 min (from 80 % of the budget on); a change of mode goes at once",
  "traffic.backlog":
    "{used} MB of this month's {budget} MB are used: heartbeats go every 110 s, readings in batches of 10 min, and what waited during an outage goes at night, 22:00 to 5:00 (from 90 % of the budget on); a change of mode goes at once",
  "traffic.mode_changes":
    "{used} MB of this month's {budget} MB are used, which is all of it: readings go every 6 h, or with a change of mode, which goes at once; what waited during an outage goes at night, 22:00 to 5:00",
  "traffic.todo":
    'nothing is lost, and all of it is taken back with the next month (UTC); for more at once raise service.monthly_mb, then "booth-gateway reload"',

  // Figures that are pushed to a collector.
  "output.figures_old": "too many sets of figures waited: the oldest went for the newest",
  "output.figures_rejected": "the collector didn't take them, and doesn't say why",
  "output.figures_away":
    "compare the address, and see whether the collector runs and a firewall lets its port through; figures of the last hour are kept",
  "output.figures_key": "the collector doesn't let this box in: see token_file, or user and password_file",
  "output.figures_certificate":
    "the collector asks for a client certificate: see client_certificate_file and client_key_file",
  "output.figures_refused":
    "see whether the address is that of a collector that takes OTLP over HTTP, with JSON; such figures aren't sent again",
} as const;
