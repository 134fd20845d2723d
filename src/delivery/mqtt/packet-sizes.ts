/** Bytes of a fixed header's length field at most (MQTT 2.1.4). */
const LENGTH_BYTES = 4;

/**
 * Watches a stream of MQTT packets for one longer than `limit`, before anything is kept of it: the library collects a packet
 * whole, whatever length it announces. Answers true from the first such packet, or length that is none, on.
 */
export function packetSizes(limit: number): (chunk: Uint8Array) => boolean {
  let skip = 0;
  let length: { value: number; bytes: number } | null = null;
  let broken = false;
  const header = (byte: number): void => {
    if (length === null) {
      length = { value: 0, bytes: 0 };
      return;
    }
    length.value += (byte & 0x7f) * 128 ** length.bytes;
    length.bytes += 1;
    if (byte >= 0x80) {
      broken ||= length.bytes === LENGTH_BYTES;
      return;
    }
    broken ||= length.value > limit;
    skip = length.value;
    length = null;
  };
  return (chunk) => {
    for (let at = 0; at < chunk.length && !broken; at += 1) {
      const step = Math.min(skip, chunk.length - at);
      skip -= step;
      at += step;
      const byte = chunk[at];
      if (byte !== undefined) header(byte);
    }
    return broken;
  };
}
