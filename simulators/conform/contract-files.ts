import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { z } from "zod";

const FOLDER = new URL("../../contract/", import.meta.url);

interface Schema {
  readonly [key: string]: unknown;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

export interface ContractOperation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly string[];
}

/** The contract's files. They are all that the kit knows of a service. */
export interface ContractFiles {
  readonly operations: readonly ContractOperation[];
  /**
   * Returns the reason why an answer doesn't fit its schema; null: it fits. `is_document`: only fields of the interface document are
   * required.
   */
  answerFault(
    operation: string,
    answer: { readonly status: number; readonly body: unknown },
    is_document: boolean,
  ): string | null;
  /** Returns the reason why a message doesn't fit its schema; null: it fits. */
  messageFault(name: string, message: unknown): string | null;
  vectors(name: string): unknown;
}

export function readContract(): ContractFiles {
  const text = (name: string): string => readFileSync(fileURLToPath(new URL(name, FOLDER)), "utf8");
  const json = JSON.stringify(parse(text("openapi.yaml"))).replaceAll("#/components/schemas/", "#/$defs/");
  const document = JSON.parse(json) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: { readonly schemas: Schema };
  };
  const operations = new Map<string, Operation>(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  );
  const shapes = new Map<string, z.ZodType>();
  const shapeOf = (name: string, make: () => Schema): z.ZodType => {
    const shape = shapes.get(name) ?? z.fromJSONSchema(make());
    shapes.set(name, shape);
    return shape;
  };
  return {
    operations: [...operations].map(([name, { parameters = [] }]) => {
      const [method = "", path = ""] = name.split(" ");
      return { method, path, query: parameters.filter((one) => one.in === "query").map((one) => one.name) };
    }),
    answerFault(name, { status, body }, is_document) {
      const schema = operations.get(name)?.responses[status]?.content?.["application/json"]?.schema;
      if (schema === undefined) return null;
      const whole = { ...schema, $defs: document.components.schemas };
      const shape = shapeOf(`${name} ${status} ${is_document}`, () => (is_document ? relaxed(whole) : whole) as Schema);
      return faultOf(shape, body);
    },
    messageFault: (name, message) =>
      faultOf(
        shapeOf(name, () => JSON.parse(text(`schemas/${name}.json`)) as Schema),
        message,
      ),
    vectors: (name) => JSON.parse(text(`vectors/${name}.json`)) as unknown,
  };
}

/** Requires only fields that the interface document names. A service may have other types for all other fields. */
function relaxed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relaxed);
  if (typeof schema !== "object" || schema === null) return schema;
  const { required, properties, ...rest } = schema as {
    required?: string[];
    properties?: Readonly<Record<string, Schema>>;
  };
  const others = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, relaxed(value)]));
  if (properties === undefined) return others;
  const isNamed = (name: string): boolean => properties[name]?.["x-origin"] === "document";
  // An envelope's list is looked into, whoever named the envelope.
  const kept = Object.entries(properties).filter(([name]) => isNamed(name) || name === "data");
  return {
    ...others,
    properties: Object.fromEntries(kept.map(([name, property]) => [name, relaxed(property)])),
    required: (required ?? []).filter(isNamed),
  };
}

function faultOf(shape: z.ZodType, value: unknown): string | null {
  const issue = shape.safeParse(value).error?.issues[0];
  return issue === undefined ? null : `${issue.path.join(".") || "body"}: ${issue.message}`;
}
