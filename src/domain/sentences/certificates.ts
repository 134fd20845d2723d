/** Why a certificate, a TLS connection or a file of either can't be used: the same words for every connection. */
export const CERTIFICATES = {
  // The server's certificate.
  "tls.chain":
    "the server sends its certificate without the intermediate that signed it, or the authority is not known here",
  "tls.authority": "the authority that signed the server's certificate is not known here",
  "tls.self_signed": "the server's certificate is self-signed and not known here",
  "tls.expired": "the server's certificate has expired; this gateway's date is {today}",
  "tls.not_yet_valid": "the server's certificate is not valid yet; this gateway's date is {today}",
  "tls.name": "the server's certificate is for {names}, not for {host}",
  "tls.not_accepted": "the server's certificate is not accepted ({code})",

  // The gateway's certificate.
  "tls.client_wanted": "the server asks for a client certificate, and none is configured",
  "tls.client_unknown":
    "the server does not know the authority of the gateway's certificate: an intermediate is missing, or the server does not trust the authority",
  "tls.client_expired": "the server says that the gateway's certificate has expired",
  "tls.client_refused": "the server does not accept the gateway's certificate, or wants one",

  // The connection.
  "tls.none": "the server does not speak TLS at this port",
  "tls.version": "the server and this gateway have no TLS version in common: at least TLS 1.2 is needed",
  "tls.cipher": "the server and this gateway have no TLS cipher in common",
  "tls.broken_off": "the connection was closed while TLS was set up",
  "tls.failed": "TLS can't be set up ({code})",

  // Files of certificates, keys and secrets.
  "file.missing": "{file} does not exist: put the file there, or correct its path",
  "file.no_right":
    "{file} can't be read, the permission is missing: let the agent's user read it; for a command, use sudo",
  "file.unreadable": "{file} can't be read ({code}): name a file that can be read",
  "file.too_large": "{file} has {bytes} bytes, more than {most}: name the right file",
  "file.open": "{file} can be read by others (mode {mode}): chmod 600 {file}",
  "file.empty": "{file} is empty: put the secret into it",
  "file.pin": "{file} holds no PIN of 8 digits or more: put one into it",
  "file.token": "{file} holds a token of fewer than {least} characters: make a longer one",
  "file.der":
    "{file} holds a certificate in DER form, PEM is needed: convert it with openssl x509 -inform DER -in {file} -out {file}.pem, then name that file",
  "file.no_pem": "{file} holds no certificate in PEM form (-----BEGIN CERTIFICATE-----): name a file that holds one",
  "file.no_certificate": "{file} holds no certificate in PEM or DER form: name a file that holds one",
  "file.bad_certificate": "certificate number {number} in {file} is damaged: export it anew",
  "file.passphrase":
    "the private key in {file} has a passphrase, which nobody can enter at a start: remove it with openssl pkey -in {file} -out FILE, then name that file",
  "file.no_key": "{file} holds no private key in PEM form: name a file that holds one",
  "file.other_key":
    "the private key in {key_file} does not belong to the first certificate in {file}: put a matching pair there, the gateway's own certificate first",
} as const;
