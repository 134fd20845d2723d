import type * as NodeOpcua from "node-opcua-client";

/** node-opcua-client costs 60 MB and most of a second: it is loaded when the first OPC UA link opens, and only then. */
export type Opcua = typeof NodeOpcua;

export type SecureChannel = InstanceType<Opcua["ClientSecureChannelLayer"]>;
type ChannelOptions = ConstructorParameters<Opcua["ClientSecureChannelLayer"]>[0];
export type Transport = ReturnType<NonNullable<ChannelOptions["transportFactory"]>["create"]>;
/** The services that we use: none of them writes. */
export type Request =
  | NodeOpcua.GetEndpointsRequest
  | NodeOpcua.CreateSessionRequest
  | NodeOpcua.ActivateSessionRequest
  | NodeOpcua.CloseSessionRequest
  | NodeOpcua.ReadRequest
  | NodeOpcua.TranslateBrowsePathsToNodeIdsRequest;
export type Response = NonNullable<Parameters<Parameters<SecureChannel["performMessageTransaction"]>[1]>[1]>;
export type KeyProvider = NonNullable<ChannelOptions["parent"]>;

let loading: Promise<Opcua> | null = null;

/** Loads the library once and silences it: it would write notices, peers' texts among them, to stdout. */
export function opcuaLibrary(): Promise<Opcua> {
  loading ??= import("node-opcua-client").then((opcua) => {
    const ignore = (): void => undefined;
    opcua.setLogLevel(opcua.LogLevel.Emergency);
    opcua.setDebugLogger(ignore);
    opcua.setWarningLogger(ignore);
    opcua.setErrorLogger(ignore);
    return opcua;
  });
  return loading;
}
