import { expect, test } from "vitest";

import { cyclicReader } from "../../../src/acquisition/opcua/cyclic.ts";
import { opcuaLibrary, type Request } from "../../../src/acquisition/opcua/library.ts";
import type { Session } from "../../../src/acquisition/opcua/session.ts";
import { failure } from "../driver-calls.ts";
import { plcnextBooth } from "../../support/profiles.ts";

const URIS = ["http://opcfoundation.org/UA/", "urn:a", "urn:b"];

async function readerWith(uris: readonly string[], extra = 0) {
  const opcua = await opcuaLibrary();
  const profile = plcnextBooth();
  const node = opcua.coerceNodeId("ns=1;s=x");
  const resolved = { namespaces: URIS, places: profile.tags.map(() => ({ node })), max_nodes: 100 };
  const asked: Request[] = [];
  const session: Session = {
    ask: (request) => {
      asked.push(request);
      const count = "nodesToRead" in request ? (request.nodesToRead?.length ?? 0) : 0;
      const list = { value: { dataType: "String", arrayType: "Array", value: [...uris] } };
      const value = { value: { dataType: "UInt16", value: 3 } };
      const results = [list, ...Array.from({ length: count - 1 + extra }, () => value)];
      return Promise.resolve(new opcua.ReadResponse({ results }) as never);
    },
    close: () => Promise.resolve(),
  };
  return { read: cyclicReader({ opcua, session, profile, resolved, insecure: false }), asked };
}

test("an OPC UA read fails with the reason closed if the server's namespaces changed after the nodes were resolved", async () => {
  const { read } = await readerWith(URIS);
  expect((await read(["fast"])).get("fast")?.[0]).toMatchObject({ tag: "mode", value: 3, quality: "good" });
  for (const uris of [["http://opcfoundation.org/UA/", "urn:b", "urn:a"], URIS.slice(0, 2), []]) {
    const error = await failure((await readerWith(uris)).read(["fast"]));
    expect(error).toMatchObject({ kind: "closed" });
    expect(error.message).toContain("looks up the variables again");
  }
});

test("an OPC UA read fails with the reason malformed if the answer has too many or too few values", async () => {
  for (const extra of [1, -1]) {
    const { read } = await readerWith(URIS, extra);
    expect((await failure(read(["fast"]))).kind).toBe("malformed");
  }
});
