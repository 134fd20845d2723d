const STAYS = "readings are kept, and go there when it is back";

/** Of lines to brokers of the site, and of PLC connections that others share. */
export const OUTPUTS = {
  "output.no_confirm": "the broker doesn't confirm what it was sent",
  "output.closed": "the connection to the broker was closed",
  "output.host_gone": "the primary host {id} has gone offline",
  "output.host_away": "connected; the primary host {id} isn't online",
  "output.host_todo": "nothing to do: all is kept until it is back",
  "shared.not_yet": "not listening yet",
  "shared.check": "give another port or address, or end what holds it; it is tried again",
  "output.check.unknown_host": `compare the address with the broker's; ${STAYS}`,
  "output.check.unreachable": `see whether the broker runs, and whether a firewall holds the port back; ${STAYS}`,
  "output.check.unanswered": `see whether MQTT is switched on at that port, and try the other mqtt_version; ${STAYS}`,
  "output.check.certificate_expired": `the broker's certificate has ended: renew it; ${STAYS}`,
  "output.check.certificate_name": `the certificate is of another server: compare the address; ${STAYS}`,
  "output.check.certificate_authority": `nobody known here signed the broker's certificate: give its authority as ca_file; ${STAYS}`,
  "output.check.certificate_wanted": `the broker asks for a client certificate: see client_certificate_file; ${STAYS}`,
  "output.check.credential": `the broker doesn't take user or password: see user and password_file; ${STAYS}`,
  "output.check.not_allowed": `the broker doesn't allow these topics to this user; ${STAYS}`,
  "output.check.taken_over": `another client uses the same client_id: give this output another; ${STAYS}`,
  "output.kept": STAYS,
} as const;
