import { LinkError } from "../domain/link-error.ts";

/** An abort ends the connection, since the answer that is still to come could be taken for the next one's. */
export async function endOnAbort<T>(end: (error: LinkError) => void, signal: AbortSignal, act: () => Promise<T>) {
  const abort = (): void => {
    const late = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
    end(new LinkError(late ? "timeout" : "closed", "given up by the gateway", signal.reason));
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await act();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
