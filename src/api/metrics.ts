import { readFile } from "node:fs/promises";
import type { Metric, ProcessFigures, Sample } from "../contract/metrics.ts";

/** Returns the memory, CPU time and disk writes of the process. */
export async function processFigures(): Promise<ProcessFigures> {
  const { rss: resident_bytes, heapUsed: heap_bytes } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { resident_bytes, heap_bytes, cpu_seconds: (user + system) / 1e6, written_bytes: await writtenBytes() };
}

/**
 * Returns the bytes that the process caused to be written to storage (proc(5), /proc/pid/io); null if its systemd unit denies reading that
 * file.
 */
async function writtenBytes(): Promise<number | null> {
  const text = await readFile("/proc/self/io", "utf8").catch(() => "");
  const found = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

/** Returns the metrics in the text format of Prometheus, version 0.0.4. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map(familyText).join("");
}

function familyText({ name, help, type, samples, distributions }: Metric): string {
  const lines = [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map((sample) => line(name, sample)),
    ...distributions.flatMap(({ labels, buckets, sum }) => [
      ...buckets.map(({ le, count }) => {
        const bound = Number.isFinite(le) ? le.toString() : "+Inf";
        return line(`${name}_bucket`, { labels: { ...labels, le: bound }, value: count });
      }),
      line(`${name}_sum`, { labels, value: sum }),
      line(`${name}_count`, { labels, value: buckets.at(-1)?.count ?? 0 }),
    ]),
  ];
  return `${lines.join("\n")}\n`;
}

function line(name: string, { labels, value }: Sample): string {
  const inner = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
