import { type Text, message } from "../../domain/message.ts";
import type { Distribution, Metric, Sample } from "../../contract/metrics.ts";
import { jsonOf } from "../../domain/json.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";

/**
 * This module writes OTLP 1.x over HTTP in its JSON encoding (the message ExportMetricsServiceRequest): 64-bit integers are decimal
 * strings, enumerations are numbers, names are in camel case. All values are doubles, which hold sequence numbers exactly up to 2^53.
 */

/** Attributes of the gateway, by OpenTelemetry's resource conventions. */
export interface Resource {
  readonly "service.name": string;
  readonly "service.version": string;
  readonly "service.instance.id": string;
}

interface Times {
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
}

/** The value "cumulative" of the enum AggregationTemporality in metrics.proto. */
const CUMULATIVE = 2;
const SCOPE = "booth-gateway";
/** Units in UCUM, as OpenTelemetry requires, by the suffix of the Prometheus name. */
const UNITS = { _seconds: "s", _bytes: "By", _ratio: "1" } as const;

/**
 * Returns the request for one set of metrics. Suffixes of the Prometheus names become unit and kind. Receivers that translate back to
 * Prometheus therefore show the names of /metrics.
 */
export function exportRequest(
  metrics: readonly Metric[],
  { resource, started_at, at }: { readonly resource: Resource; readonly started_at: EpochMs; readonly at: EpochMs },
) {
  const times = { startTimeUnixNano: nanos(started_at), timeUnixNano: nanos(at) };
  return {
    resourceMetrics: [
      {
        resource: { attributes: attributesOf({ ...resource }) },
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

/** Returns the number of data points in the metrics. */
export function pointsIn(metrics: readonly Metric[]): number {
  return metrics.reduce((sum, { samples, distributions }) => sum + samples.length + distributions.length, 0);
}

function namesOf({ name, type, help }: Metric) {
  const bare = type === "counter" ? name.replace(/_total$/, "") : name;
  const [end, unit] = Object.entries(UNITS).find(([suffix]) => bare.endsWith(suffix)) ?? ["", ""];
  const base = bare.slice(0, bare.length - end.length).replace(/^booth_gateway_/, "booth_gateway.");
  return { name: base, description: help, unit };
}

function dataOf({ type, samples, distributions }: Metric, times: Times) {
  const aggregationTemporality = CUMULATIVE;
  switch (type) {
    case "gauge":
      return { gauge: { dataPoints: samples.map((sample) => pointOf(sample, { timeUnixNano: times.timeUnixNano })) } };
    case "counter":
      return {
        sum: {
          dataPoints: samples.map((sample) => pointOf(sample, times)),
          aggregationTemporality,
          isMonotonic: true,
        },
      };
    case "histogram":
      return {
        histogram: { dataPoints: distributions.map((one) => histogramPoint(one, times)), aggregationTemporality },
      };
  }
}

function pointOf({ labels, value }: Sample, times: Partial<Times>) {
  return { ...attributesIn(labels), ...times, asDouble: value };
}

/** Converts cumulative buckets to OTLP's counts per bucket. The last bucket has no upper bound. */
function histogramPoint({ labels, buckets, sum }: Distribution, times: Times) {
  return {
    ...attributesIn(labels),
    ...times,
    count: (buckets.at(-1)?.count ?? 0).toString(),
    sum,
    bucketCounts: buckets.map(({ count }, index) => (count - (buckets[index - 1]?.count ?? 0)).toString()),
    explicitBounds: buckets.map(({ le }) => le).filter((le) => Number.isFinite(le)),
  };
}

function attributesOf(named: Readonly<Record<string, string>>) {
  return Object.entries(named).map(([key, text]) => ({ key, value: { stringValue: text } }));
}

/** Returns the attributes of labels. Omits an empty list, as protobuf does. */
function attributesIn(labels: Readonly<Record<string, string>>) {
  const attributes = attributesOf(labels);
  return attributes.length === 0 ? {} : { attributes };
}

function nanos(at: EpochMs): string {
  return `${Math.round(at)}000000`;
}

/** The result of a request. `again`: retry after `after_ms`, or after the backoff if that is null. */
export type PushOutcome =
  | { readonly kind: "taken"; readonly rejected: number; readonly reason: Text }
  | {
      readonly kind: "again";
      readonly after_ms: Milliseconds | null;
      readonly reason: Text;
      /** Advice if a person has to change something. */
      readonly advice?: Text;
    }
  | { readonly kind: "refused"; readonly status: number; readonly reason: Text };

/** The only statuses that may be retried (OTLP specification, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** The maximum number of characters in the collector's message that are shown. */
const MOST_CHARS = 200;

export function outcomeOf(
  { status, text }: { readonly status: number; readonly text: string },
  after_ms: Milliseconds | null,
): PushOutcome {
  // Ignores an unreadable body, because it only explains the status.
  const body = objectOf(jsonOf(text));
  if (status === 200) {
    const partial = objectOf(body["partialSuccess"]);
    const rejected = Number(partial["rejectedDataPoints"] ?? 0);
    return {
      kind: "taken",
      rejected: Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0,
      reason: shortText(partial["errorMessage"]),
    };
  }
  const words = shortText(body["message"]);
  const answered = message("output.figures_answer", { status });
  const reason = words === "" ? answered : message("output.figures_answer_words", { status, words });
  return RETRYABLE.has(status) ? { kind: "again", after_ms, reason } : { kind: "refused", status, reason };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function shortText(value: unknown): string {
  return typeof value === "string" ? value.replaceAll(/\p{Cc}/gu, " ").slice(0, MOST_CHARS) : "";
}
