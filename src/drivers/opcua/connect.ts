import { LinkError } from "../../core/link-error.ts";
import type { OpcuaAddress } from "../../core/types/config.ts";
import type { EpochMs, Milliseconds } from "../../core/types/units.ts";
import { fingerprintOf } from "./certificate.ts";
import type { Channel, ChannelOptions } from "./channel.ts";
import { readCertificateFile } from "./files.ts";
import type { Opcua } from "./library.ts";
import type { OpcuaPki } from "./pki.ts";
import { openSession } from "./session.ts";
import type { Session } from "./session.ts";
import { judgeServer } from "./trust.ts";
import type { Offer, Pin } from "./trust.ts";

export interface Connecting {
  readonly opcua: Opcua;
  readonly address: OpcuaAddress;
  readonly pki: OpcuaPki;
  readonly now: EpochMs;
  readonly idle_ms: Milliseconds;
  /** Of the user; null: a file holds it, or nobody logs in by name. */
  readonly password: string | null;
  /** A fresh channel that the driver can end at any time. Throws where the driver has been closed in between. */
  readonly newChannel: (options: Pick<ChannelOptions, "policy" | "certificate" | "keys">) => Channel;
}

/**
 * Asks the server over an open channel what it offers, judges its certificate, and only then makes the secure channel
 * and the session. Rejects with a LinkError; nothing secret has gone out before the server is known to be the pinned one.
 */
export async function connectSession(connecting: Connecting): Promise<Session> {
  const { opcua, address, pki, now, idle_ms, password, newChannel } = connecting;
  if (address.security_policy === "None") {
    if (!address.allow_insecure) throw new LinkError("config", "security_policy None needs allow_insecure: true");
    const channel = newChannel({ policy: "None" });
    await channel.open();
    return openSession(opcua, channel, { address, own: null, serverCertificate: null, idle_ms, password });
  }
  const offers = await discover(opcua, address.endpoint, newChannel({ policy: "None" }));
  const server = judgeServer(offers, {
    policy: address.security_policy,
    pinned: pinnedBy(address),
    host: hostOf(address),
    now,
  });
  if (server instanceof LinkError) throw server;
  pki.noteServer(address.endpoint, fingerprintOf(server.der), server.expires);
  const own = await pki.own(opcua);
  const channel = newChannel({ policy: address.security_policy, certificate: server.der, keys: own.keys });
  await channel.open().catch((error: unknown) => {
    throw refusedByServer(error, own.fingerprint);
  });
  return openSession(opcua, channel, { address, own, serverCertificate: server.der, idle_ms, password });
}

async function discover(opcua: Opcua, endpoint: string, channel: Channel): Promise<readonly Offer[]> {
  await channel.open();
  const request = new opcua.GetEndpointsRequest({ endpointUrl: endpoint, localeIds: [], profileUris: [] });
  const { endpoints } = await channel.ask(request, opcua.GetEndpointsResponse);
  channel.end(new LinkError("closed", "discovery is over"));
  return (endpoints ?? []).flatMap(({ securityMode, securityPolicyUri, serverCertificate }) => {
    const policy = (securityPolicyUri ?? "").split("#")[1] ?? "None";
    const { None, SignAndEncrypt } = opcua.MessageSecurityMode;
    const usable = securityMode === SignAndEncrypt || (securityMode === None && policy === "None");
    return usable ? [{ policy, certificate: serverCertificate }] : [];
  });
}

/** What a technician trusts; null: nothing yet. */
function pinnedBy(address: OpcuaAddress): Pin | null {
  const { server_certificate_fingerprint, server_certificate_file: file } = address;
  if (file !== undefined) {
    const certificate = readCertificateFile(file);
    const fingerprint = fingerprintOf(certificate.raw);
    return { fingerprint, file, ...(certificate.ca ? { authority: certificate } : {}) };
  }
  return server_certificate_fingerprint === undefined ? null : { fingerprint: server_certificate_fingerprint };
}

/** As certificates spell it: an IPv6 address without its brackets. */
function hostOf({ endpoint }: OpcuaAddress): string {
  return new URL(endpoint).hostname.replace(/^\[|\]$/g, "");
}

/** Servers that don't trust a client often just hang up: whoever reads the reason needs to know what to look for. */
function refusedByServer(error: unknown, fingerprint: string): unknown {
  if (!(error instanceof LinkError) || !["closed", "reset", "config"].includes(error.kind)) return error;
  const trust = `it may not trust the gateway's certificate yet, SHA-256 ${fingerprint}: trust it in the PLC`;
  return new LinkError("config", `no secure channel: ${error.message}; ${trust}`, error);
}
