import {
  LogLevel,
  MessageSecurityMode,
  OPCUAServer,
  RegisterServerMethod,
  SecurityPolicy,
  setLogLevel,
  StatusCodes,
} from "node-opcua";
import { addDecoys, fillAddressSpace, namespacesOf } from "./address-space.ts";
import { makeServerPki, type ServerPki } from "./certificates.ts";
import type { OpcuaProfile } from "../../../src/domain/profile.ts";
import type { Booth } from "../model/booth.ts";

/** Behavior of a server. Changes apply from the next `restart` on, except for bad_tags, which applies at once. */
export interface OpcuaManners {
  /** Variables that are slow to read. */
  slow_tags: readonly string[];
  slow_ms: number;
  /**
   * Another program's namespace is registered first, with the same names and other values, so that every index is
   * shifted.
   */
  shifted_namespaces: boolean;
  /** Offers only security policy None. */
  none_only: boolean;
  /** Offers security policy None in addition to the encrypted ones. */
  none_too: boolean;
  /** Maximum number of sessions; 0 rejects every session. */
  max_sessions: number;
  /** 0 rejects every subscription. */
  max_subscriptions: number;
  /** Maximum number of variables in a subscription. */
  max_monitored_items: number;
  /** 0: no limit. */
  max_nodes_per_read: number;
  /** Accepts unknown client certificates. */
  trust_clients: boolean;
  /** Accepts unknown user certificates for a login. */
  trust_users: boolean;
  /** Makes a new certificate and an empty trust list at the next restart. */
  new_certificate: boolean;
  /** Days until a new certificate expires; below 0: it has already expired. */
  certificate_days: number;
  /** A new certificate is signed by its own authority. */
  ca_signed: boolean;
  /** The IP address in a new certificate. */
  certificate_ip: string;
  allow_anonymous: boolean;
  /** New sessions get empty lists with continuation points forever when they browse. */
  endless_browse: boolean;
  bad_tags: readonly string[];
}

export function goodOpcuaManners(): OpcuaManners {
  return {
    slow_tags: [],
    slow_ms: 0,
    shifted_namespaces: false,
    none_only: false,
    none_too: false,
    max_sessions: 20,
    max_subscriptions: 10,
    max_monitored_items: 1000,
    max_nodes_per_read: 0,
    trust_clients: true,
    trust_users: true,
    new_certificate: false,
    certificate_days: 3650,
    ca_signed: false,
    certificate_ip: "127.0.0.1",
    allow_anonymous: false,
    endless_browse: false,
    bad_tags: [],
  };
}

interface OpcuaServerOptions {
  readonly profile: OpcuaProfile;
  readonly booth: Booth;
  readonly now: () => number;
  /** 0: any free port, which restarts keep. */
  readonly port: number;
  readonly manners?: Partial<OpcuaManners>;
  readonly user?: string;
  readonly password?: string;
}

export interface RunningOpcua {
  readonly port: number;
  readonly endpoint: string;
  /** SHA-256 of the present certificate, lower-case hex. */
  fingerprint(): string;
  certificateFile(): string;
  /** Path of the certificate of the authority that signed the present certificate. */
  authorityFile(): string;
  readonly manners: OpcuaManners;
  /** Number of open sessions. */
  sessions(): number;
  /** Number of open subscriptions. */
  subscriptions(): number;
  /** Login attempts: name and password as received. */
  readonly logins: { readonly user: string; readonly password: string }[];
  stopServer(): Promise<void>;
  /** Restarts the PLC on the same port with the present manners. */
  restart(): Promise<void>;
  /** Ends all parts. May be called more than once. */
  stop(): Promise<void>;
}

const OTHER_PROGRAM = "urn:booth-sim:another-program";
const URI = "urn:booth-sim:plc";
const POLICIES = [
  SecurityPolicy.Basic256Sha256,
  SecurityPolicy.Aes128_Sha256_RsaOaep,
  SecurityPolicy.Aes256_Sha256_RsaPss,
];

/**
 * Starts an OPC UA server on 127.0.0.1 for the booth's model. Rejects with the system's error if the port is occupied.
 */
export async function startOpcuaServer(options: OpcuaServerOptions): Promise<RunningOpcua> {
  // The library logs to stdout, which belongs to the command.
  setLogLevel(LogLevel.Emergency);
  const manners: OpcuaManners = { ...goodOpcuaManners(), ...options.manners };
  const logins: { user: string; password: string }[] = [];
  let pki = await makeServerPki(wishesOf(manners));
  let server: OPCUAServer | null = null;
  let port = options.port;
  const start = async (): Promise<void> => {
    server = await launch({ ...options, port }, { manners, pki, logins });
    port = server.endpoints[0]?.port ?? port;
  };
  const stopServer = async (): Promise<void> => {
    const stopping = server;
    server = null;
    await stopping?.shutdown(0);
  };
  await start();
  return {
    port,
    endpoint: `opc.tcp://127.0.0.1:${port}`,
    fingerprint: () => pki.fingerprint,
    certificateFile: () => pki.certificateFile,
    authorityFile: () => pki.authorityFile,
    manners,
    logins,
    sessions: () => server?.engine.currentSessionCount ?? 0,
    subscriptions: () => server?.engine.currentSubscriptionCount ?? 0,
    stopServer,
    restart: async () => {
      await stopServer();
      if (manners.new_certificate) {
        await pki.dispose();
        pki = await makeServerPki(wishesOf(manners));
        manners.new_certificate = false;
      }
      await start();
    },
    stop: async () => {
      await stopServer();
      await pki.dispose();
    },
  };
}

function wishesOf(manners: OpcuaManners): Parameters<typeof makeServerPki>[0] {
  return { ...manners, uri: URI, dns: ["localhost"], ip: [manners.certificate_ip] };
}

interface Parts {
  readonly manners: OpcuaManners;
  readonly pki: ServerPki;
  readonly logins: { user: string; password: string }[];
}

async function launch(options: OpcuaServerOptions, { manners, pki, logins }: Parts): Promise<OPCUAServer> {
  const { profile, booth, now, port, user = "gateway", password = "booth" } = options;
  const { None, SignAndEncrypt } = MessageSecurityMode;
  const open = manners.none_only || manners.none_too;
  const server = new OPCUAServer({
    port,
    hostname: "127.0.0.1",
    host: "127.0.0.1",
    serverInfo: { applicationUri: URI },
    serverCertificateManager: pki.manager,
    userCertificateManager: pki.users,
    certificateFile: pki.certificateFile,
    privateKeyFile: pki.privateKeyFile,
    securityModes: manners.none_only ? [None] : [SignAndEncrypt, ...(open ? [None] : [])],
    securityPolicies: [...(manners.none_only ? [] : POLICIES), ...(open ? [SecurityPolicy.None] : [])],
    allowAnonymous: manners.allow_anonymous,
    userManager: {
      isValidUser: (name: string, secret: string) => {
        logins.push({ user: name, password: secret });
        return name === user && secret === password;
      },
    },
    registerServerMethod: RegisterServerMethod.HIDDEN,
    serverCapabilities: {
      maxSessions: Math.max(1, manners.max_sessions),
      maxSubscriptions: manners.max_subscriptions,
      maxSubscriptionsPerSession: manners.max_subscriptions,
      maxMonitoredItemsPerSubscription: manners.max_monitored_items,
      operationLimits: { maxNodesPerRead: manners.max_nodes_per_read },
    },
  });
  await server.initialize();
  server.on("create_session", ({ continuationPointManager }) => {
    if (!manners.endless_browse) return;
    const endless = () => ({ continuationPoint: Buffer.from("more"), values: [], statusCode: StatusCodes.Good });
    Object.assign(continuationPointManager, { registerReferences: endless, getNextReferences: endless });
  });
  // The library replaces 0 by its default.
  const { serverCapabilities } = server.engine;
  if (manners.max_sessions === 0) serverCapabilities.maxSessions = 0;
  if (manners.max_subscriptions === 0) serverCapabilities.maxSubscriptions = 0;
  const { addressSpace } = server.engine;
  if (!addressSpace) throw new Error("the server has no address space");
  if (manners.shifted_namespaces) addDecoys(addressSpace, OTHER_PROGRAM, profile);
  const slow = { tags: manners.slow_tags, ms: manners.slow_ms };
  fillAddressSpace(addressSpace, namespacesOf(profile), { profile, booth, now, slow, badTags: () => manners.bad_tags });
  await server.start();
  return server;
}
