import { createHash, pbkdf2Sync, randomBytes } from "node:crypto";
import { encodeBase64, hashSync } from "bcryptjs";
import { type Db, run } from "../storage/db.ts";

/**
 * Iterations of PBKDF2, as `mosquitto_passwd` uses them. A credential has 256 random bits, which no number of
 * iterations makes safer, and a broker computes them for each connected client whenever it reads its users again.
 */
const ITERATIONS = 101;
const KEY_BYTES = 64;
/** Lengths of the salts. Mosquitto 2.0 accepts no other. */
const SALT_BYTES = { pbkdf2: 12, bcrypt: 16 };
/** The lowest cost of bcrypt, for the same reason. */
const BCRYPT_COST = "$2b$04$";

/** Hashes of a password, in the forms that brokers verify by themselves. */
export interface Verifiers {
  /** PBKDF2 with SHA-512, as mosquitto's password file has it after the user's name. */
  readonly pbkdf2: string;
  /** bcrypt, as the users of NATS have it. */
  readonly bcrypt: string;
}

/** Returns a password's verifiers. The same `saltFrom` returns the same verifiers; by default the salt is random. */
export function verifiersOf(password: string, saltFrom: string | Buffer = randomBytes(SALT_BYTES.bcrypt)): Verifiers {
  const salts = createHash("sha256").update(saltFrom).digest();
  const salt = salts.subarray(0, SALT_BYTES.pbkdf2);
  const key = pbkdf2Sync(password, salt, ITERATIONS, KEY_BYTES, "sha512");
  return {
    pbkdf2: `$7$${ITERATIONS}$${salt.toString("base64")}$${key.toString("base64")}`,
    bcrypt: hashSync(password, `${BCRYPT_COST}${encodeBase64(salts, SALT_BYTES.bcrypt)}`),
  };
}

/**
 * Stores the verifiers of a gateway's credential when it is first used over HTTP. Only then does the service know the
 * credential itself; the claim has its hash.
 */
export function keepVerifiers(db: Db, keyId: string, credential: string): void {
  const { pbkdf2, bcrypt } = verifiersOf(credential);
  run(db, "UPDATE api_keys SET pbkdf2 = ?, bcrypt = ? WHERE id = ? AND pbkdf2 IS NULL", pbkdf2, bcrypt, keyId);
}
