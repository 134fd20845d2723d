/** Small buffers of Node share one piece of memory of this size; that is freed when none of them is in use any more. */
const POOL_BYTES = 1_024;

/**
 * The MQTT library keeps the four bytes of each packet length that it ever wrote, of 16,384 lengths at most, and with each of
 * them the whole piece that they were cut from: at Node's own size of 64 KiB a gigabyte in the end, and 4 MB for the
 * first 70 lengths. For the whole process.
 */
export function keepPoolSmall(): void {
  Buffer.poolSize = POOL_BYTES;
}
