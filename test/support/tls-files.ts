import { execFileSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Files with a certificate and its key. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority for one test, made with openssl. */
export interface TestAuthority {
  /** The authority's certificate in PEM. */
  readonly ca: string;
  readonly ca_file: string;
  /** Signs a certificate. If `days` is below 0, the certificate has already expired. */
  issue(name: string, options?: IssueOptions): TlsFiles;
  /** Signs an intermediate authority. Its certificates need the intermediate in their chain. */
  intermediate(name: string): TestAuthority;
}

export interface IssueOptions {
  readonly days?: number;
  readonly hosts?: readonly string[];
  /** The certificate becomes valid in 2090. */
  readonly is_future?: boolean;
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"] as const;

function openssl(args: readonly string[]): void {
  // The OPC UA library leaves the text "undefined" in this variable, which openssl takes as the path of its
  // configuration.
  const env = { ...process.env, OPENSSL_CONF: undefined };
  execFileSync("openssl", args, { env, stdio: ["ignore", "ignore", "pipe"] });
}

export function testAuthority(folder: string, name: string): TestAuthority {
  const file = (ending: string): string => join(folder, `${name}.${ending}`);
  openssl(["req", "-x509", ...NEW_KEY, "-keyout", file("key"), "-out", file("pem"), "-subj", `/CN=${name}`]);
  return authorityIn(folder, name);
}

/** Returns the authority that has these files. */
function authorityIn(folder: string, name: string): TestAuthority {
  const file = (ending: string): string => join(folder, `${name}.${ending}`);
  let serial = 0;
  const sign = (request: string, { extensions, days, is_future = false }: Signing): string => {
    serial += 1;
    const of = (ending: string): string => file(`${serial}.${ending}`);
    writeFileSync(of("ext"), `${extensions.join("\n")}\n`);
    const signer = ["-CA", file("pem"), "-CAkey", file("key"), "-set_serial", serial.toString()];
    const how = ["-days", days.toString(), "-extfile", of("ext")];
    if (!is_future) openssl(["x509", "-req", "-in", request, ...signer, ...how, "-out", of("pem")]);
    else {
      // In old versions of openssl, only this command can set a later start of validity.
      writeFileSync(of("db"), "");
      writeFileSync(of("number"), `${serial.toString().padStart(4, "0")}\n`);
      writeFileSync(
        of("cnf"),
        `[ca]\ndefault_ca=own\n[own]\ndatabase=${of("db")}\nserial=${of("number")}\npolicy=any\n[any]\ncommonName=supplied\n`,
      );
      const by = ["-config", of("cnf"), "-cert", file("pem"), "-keyfile", file("key"), "-md", "sha256"];
      const dates = ["-startdate", "20900101000000Z", "-enddate", "20910101000000Z", "-extfile", of("ext")];
      openssl(["ca", "-batch", "-notext", ...by, ...dates, "-outdir", folder, "-in", request, "-out", of("pem")]);
    }
    return of("pem");
  };
  const requested = (subject: string): { readonly key: string; readonly request: string } => {
    const number = (serial + 1).toString();
    const key = file(`${number}.key`);
    const request = file(`${number}.csr`);
    openssl(["req", ...NEW_KEY, "-keyout", key, "-out", request, "-subj", `/CN=${subject}`]);
    return { key, request };
  };
  return {
    ca: readFileSync(file("pem"), "utf8"),
    ca_file: file("pem"),
    issue(
      subject,
      { days = 365, hosts = ["DNS:broker.test", "DNS:localhost", "IP:127.0.0.1"], is_future = false } = {},
    ) {
      const { key, request } = requested(subject);
      const extensions = [`subjectAltName=${hosts.join(",")}`];
      return { cert: sign(request, { extensions, days, is_future }), key };
    },
    intermediate(subject) {
      const { key, request } = requested(subject);
      const extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign"];
      renameSync(sign(request, { extensions, days: 365 }), join(folder, `${subject}.pem`));
      renameSync(key, join(folder, `${subject}.key`));
      return authorityIn(folder, subject);
    },
  };
}

interface Signing {
  readonly extensions: readonly string[];
  readonly days: number;
  readonly is_future?: boolean;
}
