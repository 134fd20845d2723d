import { type Verifiers, verifiersOf } from "../accounts/verifiers.ts";
import { type Db, rows } from "../storage/db.ts";

/** Name of the service's own user at its brokers, unless the operator names another one. */
export const SERVICE_USER = "service";

/** A user of a broker: a gateway, or the service itself. */
export interface BrokerUser extends Verifiers {
  readonly name: string;
  readonly is_service: boolean;
}

/** The service's own user at the brokers. */
export interface ServiceUser {
  readonly name: string;
  readonly password: string;
}

/** Returns the service's user. Its verifiers are always the same, because brokers end the sessions of a changed user. */
export function serviceUser({ name, password }: ServiceUser): BrokerUser {
  return { name, is_service: true, ...verifiersOf(password, `booth-service ${name}`) };
}

interface UserRow extends Verifiers {
  readonly gateway_id: string;
}

/**
 * Returns the gateways with a valid credential, each with the credential that stays valid the longest. A broker's user
 * has only one password. A gateway that is named like the service's user is left out, because it would get its rights.
 */
export function gatewayUsers(db: Db, now: number, service: string): BrokerUser[] {
  const sql = `SELECT gateway_id, pbkdf2, bcrypt FROM broker_users
    WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) AND gateway_id <> ?
    ORDER BY gateway_id, coalesce(expires_at, 9e15), created_at`;
  const found = rows<UserRow>(db, sql, now, service);
  const longest = new Map(found.map(({ gateway_id: name, ...verifiers }) => [name, { name, ...verifiers }]));
  return [...longest.values()].map((user) => ({ ...user, is_service: false }));
}

/** Returns the names of all gateways that have, or had, a credential. */
export function gatewayNames(db: Db): string[] {
  const sql = "SELECT DISTINCT gateway_id FROM broker_users";
  return rows<Pick<UserRow, "gateway_id">>(db, sql).map(({ gateway_id }) => gateway_id);
}

const HEAD = "# Written by booth-sim service brokers, which overwrites every change.\n";

/** Returns mosquitto's password file. The topics of each user are in the broker's own ACL file. */
export function mosquittoPasswords(users: readonly BrokerUser[]): string {
  return users.map(({ name, pbkdf2 }) => `${name}:${pbkdf2}\n`).join("");
}

/**
 * Returns the users of NATS with their permissions, to be included in the `authorization` block. In a subject, "." stands
 * for "/", so that a gateway with a dot in its name could use another gateway's topics, and is left out.
 */
export function natsUsers(users: readonly BrokerUser[]): string {
  const lines = users
    .filter(({ name, is_service }) => is_service || !name.includes("."))
    .map((user) => `  {user: ${JSON.stringify(user.name)}, password: "${user.bcrypt}"${natsPermissions(user)}}\n`);
  return `${HEAD}users = [\n${lines.join("")}]\n`;
}

function natsPermissions({ name, is_service }: BrokerUser): string {
  if (is_service) return "";
  return `, permissions: {publish: "bg.v1.${name}.up.>", subscribe: ["bg.v1.${name}.down", "bg.v1.${name}.down.>", "$MQTT.sub.>"]}`;
}
