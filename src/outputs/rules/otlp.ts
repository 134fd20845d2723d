import type { Distribution, Metric, Sample } from "../../contract/metrics.ts";
import { jsonOf } from "../../domain/json.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/**
 * OTLP 1.x over HTTP in its JSON encoding (the message ExportMetricsServiceRequest): 64-bit integers are decimal strings,
 * enumerations numbers, names in camel case. All figures go as doubles: seqs are exact in them up to 2^53.
 */

/** Who this is, by the names of OpenTelemetry's resource conventions. */
export interface Resource {
  readonly "service.name": string;
  readonly "service.version": string;
  readonly "service.instance.id": string;
}

/** enum AggregationTemporality of metrics.proto. */
const CUMULATIVE = 2;
const SCOPE = "booth-gateway";
/** Units by UCUM, as OpenTelemetry names them, by the end of a name for Prometheus. */
const UNITS = { _seconds: "s", _bytes: "By", _ratio: "1" } as const;

/** One set of figures. Receivers that translate names for Prometheus come by the names of /metrics again: what ends them goes into unit and sort. */
export function exportRequest(
  metrics: readonly Metric[],
  { resource, started_at, at }: { readonly resource: Resource; readonly started_at: EpochMs; readonly at: EpochMs },
) {
  const times = { startTimeUnixNano: nanos(started_at), timeUnixNano: nanos(at) };
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeMetrics: [
          {
            scope: { name: SCOPE, version: resource["service.version"] },
            metrics: metrics.map((metric) => ({ ...namesOf(metric), ...dataOf(metric, times) })),
          },
        ],
      },
    ],
  };
}

/** How many it holds: what is given up is counted in these. */
export function pointsIn(metrics: readonly Metric[]): number {
  return metrics.reduce((sum, { samples, distributions }) => sum + samples.length + distributions.length, 0);
}

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

function namesOf({ name, type, help }: Metric) {
  const bare = type === "counter" ? name.replace(/_total$/, "") : name;
  const [end, unit] = Object.entries(UNITS).find(([suffix]) => bare.endsWith(suffix)) ?? ["", ""];
  const base = bare.slice(0, bare.length - end.length).replace(/^booth_gateway_/, "booth_gateway.");
  return { name: base, description: help, unit };
}

function dataOf({ type, samples, distributions }: Metric, times: Times) {
  switch (type) {
    case "gauge":
      return { gauge: { dataPoints: samples.map((sample) => pointOf(sample, { timeUnixNano: times.timeUnixNano })) } };
    case "counter":
      return {
        sum: {
          dataPoints: samples.map((sample) => pointOf(sample, times)),
          aggregationTemporality: CUMULATIVE,
          isMonotonic: true,
        },
      };
    case "histogram":
      return {
        histogram: {
          dataPoints: distributions.map((one) => distributionOf(one, times)),
          aggregationTemporality: CUMULATIVE,
        },
      };
  }
}

function pointOf({ labels, value }: Sample, times: Partial<Times>) {
  return { ...labelled(labels), ...times, asDouble: value };
}

/** Its counts are of each bucket alone; the last one has no bound. */
function distributionOf({ labels, buckets, sum }: Distribution, times: Times) {
  const alone = buckets.map(({ count }, index) => count - (buckets[index - 1]?.count ?? 0));
  return {
    ...labelled(labels),
    ...times,
    count: (buckets.at(-1)?.count ?? 0).toString(),
    sum,
    bucketCounts: alone.map((count) => count.toString()),
    explicitBounds: buckets.map(({ le }) => le).filter((le) => Number.isFinite(le)),
  };
}

function attributesOf(named: Readonly<Record<string, string>> | Resource) {
  return Object.entries(named).map(([key, text]: [string, string]) => ({ key, value: { stringValue: text } }));
}

/** An empty list is left out, as protobuf does. */
function labelled(labels: Readonly<Record<string, string>>) {
  const attributes = attributesOf(labels);
  return attributes.length === 0 ? {} : { attributes };
}

function nanos(at: EpochMs): string {
  return `${Math.round(at)}000000`;
}

/** What became of a request. `again`: it is to be sent once more, after so long; null: by the back-off. */
export type PushOutcome =
  | { readonly kind: "taken"; readonly rejected: number; readonly reason: string }
  | {
      readonly kind: "again";
      readonly after_ms: Milliseconds | null;
      readonly reason: string;
      /** What to do, if the reason needs more than patience. */
      readonly advice?: string;
    }
  | { readonly kind: "refused"; readonly status: number; readonly reason: string };

/** Only these may be tried again (OTLP specification, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** More of somebody else's words nobody reads. */
const MOST_WORDS = 200;

export function outcomeOf(
  answer: { readonly status: number; readonly text: string },
  after_ms: Milliseconds | null,
): PushOutcome {
  const { status, text } = answer;
  // The body only explains the status, so one that can't be read is ignored.
  const body = objectOf(jsonOf(text));
  if (status === 200) {
    const partial = objectOf(body["partialSuccess"]);
    const rejected = Number(partial["rejectedDataPoints"] ?? 0);
    return {
      kind: "taken",
      rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
      reason: words(partial["errorMessage"]),
    };
  }
  const said = words(body["message"]);
  const reason = `the collector answered ${status}${said === "" ? "" : `: ${said}`}`;
  return RETRYABLE.has(status) ? { kind: "again", after_ms, reason } : { kind: "refused", status, reason };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function words(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\p{Cc}/gu, " ").slice(0, MOST_WORDS) : "";
}
