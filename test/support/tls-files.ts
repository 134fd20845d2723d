import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A certificate and its key, as files. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** An authority for one test, made with openssl. */
export interface TestAuthority {
  /** PEM. */
  readonly ca: string;
  readonly ca_file: string;
  /** Signs a certificate; `days` below 0: it has ended already. */
  issue(name: string, options?: { readonly days?: number; readonly hosts?: readonly string[] }): TlsFiles;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const;

function openssl(args: readonly string[]): void {
  // The OPC UA library leaves "undefined" behind as the way to openssl's configuration.
  const env = { ...process.env, OPENSSL_CONF: undefined };
  execFileSync("openssl", args, { env, stdio: ["ignore", "ignore", "pipe"] });
}

export function testAuthority(folder: string, name: string): TestAuthority {
  const file = (ending: string): string => join(folder, `${name}.${ending}`);
  openssl(["req", "-x509", ...NEW_KEY, "-keyout", file("key"), "-out", file("pem"), "-subj", `/CN=${name}`]);
  let serial = 0;
  return {
    ca: readFileSync(file("pem"), "utf8"),
    ca_file: file("pem"),
    issue(subject, { days = 365, hosts = ["DNS:broker.test", "DNS:localhost", "IP:127.0.0.1"] } = {}) {
      serial += 1;
      const of = (ending: string): string => file(`${serial.toString()}.${ending}`);
      openssl(["req", ...NEW_KEY, "-keyout", of("key"), "-out", of("csr"), "-subj", `/CN=${subject}`]);
      writeFileSync(of("ext"), `subjectAltName=${hosts.join(",")}\n`);
      const signer = ["-CA", file("pem"), "-CAkey", file("key"), "-set_serial", serial.toString()];
      const how = ["-days", days.toString(), "-extfile", of("ext")];
      openssl(["x509", "-req", "-in", of("csr"), ...signer, ...how, "-out", of("pem")]);
      return { cert: of("pem"), key: of("key") };
    },
  };
}
