import type * as Used from "./used.ts";

/** The used part of node-opcua-client. It is loaded before the first OPC UA link opens; without such a link it is never loaded. */
export type Opcua = typeof Used;

export type SecureChannel = Used.ClientSecureChannelLayer;
type ChannelOptions = ConstructorParameters<typeof Used.ClientSecureChannelLayer>[0];
export type Transport = ReturnType<NonNullable<ChannelOptions["transportFactory"]>["create"]>;
/** The services that the agent uses. None of them writes. */
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
 * Runs a function without console output. Some modules of the library write to the console when they receive unexpected bytes, regardless
 * of the log settings. A faulty server could therefore fill the log. All synchronous processing of a server's bytes runs in this function.
 */
export function quietly(run: () => void): void {
  const { log, warn, error } = console;
  const ignore = (): void => undefined;
  Object.assign(console, { log: ignore, warn: ignore, error: ignore });
  try {
    run();
  } finally {
    Object.assign(console, { log, warn, error });
  }
}

let loading: Promise<Opcua> | null = null;

/** Loads the library once. Turns off its log output, because it would write notices, including texts of peers, to stdout. */
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
