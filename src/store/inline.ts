import type { Identity, Store } from "../ports.ts";
import type { IdentityFile } from "./identity.ts";
import type { Writer } from "./writer.ts";

/** The same store without a thread, for a simulation under virtual time: every call is carried out at once. */
export function inlineStore(writer: Writer): Store {
  return {
    openStream: (booth) => attempt(() => writer.openStream(booth)),
    ingest: (stream, records, lastTake) => attempt(() => writer.ingest(stream, records, lastTake)),
    read: (stream, from, limit) => attempt(() => writer.read(stream, from, limit)),
    terms: (stream, from, end) => attempt(() => writer.terms(stream, from, end)),
    ack: (stream, upTo) => attempt(() => writer.ack(stream, upTo)),
    setAside: (stream, refusals) => attempt(() => writer.setAside(stream, refusals)),
    refused: (stream) => attempt(() => writer.refused(stream)),
    resend: (stream, from) => attempt(() => writer.resend(stream, from)),
    info: (stream) => attempt(() => writer.info(stream)),
    state: (stream) => attempt(() => writer.state(stream)),
    close: () => attempt(() => writer.close()),
  };
}

export function inlineIdentity(file: IdentityFile): Identity {
  return {
    gateway: () => attempt(() => file.gateway()),
    setCredential: (credential) => attempt(() => file.setCredential(credential)),
    provisioning: (booth) => attempt(() => file.provisioning(booth)),
    setProvisioning: (booth, row) => attempt(() => file.setProvisioning(booth, row)),
    learned: (booth) => attempt(() => file.learned(booth)),
    setLearned: (booth, what) => attempt(() => file.setLearned(booth, what)),
    kept: (name) => attempt(() => file.kept(name)),
    keep: (name, what) => attempt(() => file.keep(name, what)),
    promote: (credential, name, what) => attempt(() => file.promote(credential, name, what)),
  };
}

function attempt<T>(call: () => T): Promise<T> {
  return new Promise((resolve) => resolve(call()));
}
