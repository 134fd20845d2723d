import { parentPort, workerData } from "node:worker_threads";
import { opcuaLibrary } from "../acquisition/opcua/library.ts";
import { opcuaPki } from "../acquisition/opcua/pki.ts";

/**
 * Makes the certificate of the box's page where there is none, or it ends soon. On a thread of its own: the library that can
 * make one takes most of a second to load and 60 MB, which are free again when the thread has ended.
 */
if (parentPort !== null) {
  const { dir } = workerData as { readonly dir: string };
  const { fingerprint } = await opcuaPki({ dir, wall: () => Date.now() }).own(await opcuaLibrary());
  parentPort.postMessage(fingerprint);
}
