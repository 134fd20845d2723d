import type * as Used from "./used.ts";

/** node-opcua-client is loaded before the first OPC UA link opens, and only where there is one. */
export type Opcua = typeof Used;

export type SecureChannel = Used.ClientSecureChannelLayer;
type ChannelOptions = ConstructorParameters<typeof Used.ClientSecureChannelLayer>[0];
export type Transport = ReturnType<NonNullable<ChannelOptions["transportFactory"]>["create"]>;
/** The services that we use: none of them writes. */
export type Request =
  | Used.GetEndpointsRequest
  | Used.CreateSessionRequest
  | Used.ActivateSessionRequest
  | Used.CloseSessionRequest
  | Used.ReadRequest
  | Used.CreateSubscriptionRequest
  | Used.CreateMonitoredItemsRequest
  | Used.DeleteSubscriptionsRequest
  | Used.PublishRequest
  | Used.BrowseRequest
  | Used.BrowseNextRequest
  | Used.TranslateBrowsePathsToNodeIdsRequest;
export type Response = NonNullable<Parameters<Parameters<SecureChannel["performMessageTransaction"]>[1]>[1]>;
export type KeyProvider = NonNullable<ChannelOptions["parent"]>;

/**
 * Some of the library's modules write to the console for bytes that they don't like, past every switch: a hostile or
 * merely peculiar server could fill the log. What it does with a server's bytes runs in here, synchronously.
 */
export function quietly(act: () => void): void {
  const { log, warn, error } = console;
  const ignore = (): void => undefined;
  Object.assign(console, { log: ignore, warn: ignore, error: ignore });
  try {
    act();
  } finally {
    Object.assign(console, { log, warn, error });
  }
}

let loading: Promise<Opcua> | null = null;

/** Loads the library once and silences it: it would write notices, peers' texts among them, to stdout. */
export function opcuaLibrary(): Promise<Opcua> {
  loading ??= import("./used.ts").then((opcua) => {
    const ignore = (): void => undefined;
    opcua.setLogLevel(opcua.LogLevel.Emergency);
    opcua.setDebugLogger(ignore);
    opcua.setWarningLogger(ignore);
    opcua.setErrorLogger(ignore);
    return opcua;
  });
  return loading;
}
