import { dirname, resolve } from "node:path";
import type { z } from "zod";
import type { MarkedSetting } from "./file-checks.ts";
import { markedKeys } from "./marks.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

/** Returns the marked settings that a configuration has. */
export function markedIn(schema: z.ZodType, data: unknown, source: YamlSource): readonly MarkedSetting[] {
  const folder = dirname(resolve(source.file));
  return markedKeys(schema).flatMap(({ keys, holds }) =>
    valuesAt(data, keys, []).map(({ path, value }) => ({
      path,
      holds,
      value: holds === "address" ? value : resolve(folder, value),
      place: source.problemAt(path, ""),
    })),
  );
}

function valuesAt(
  data: unknown,
  [key, ...deeper]: readonly string[],
  path: DataPath,
): readonly { readonly path: DataPath; readonly value: string }[] {
  if (key === undefined) return typeof data === "string" ? [{ path, value: data }] : [];
  if (Array.isArray(data)) return key === "*" ? data.flatMap((one, at) => valuesAt(one, deeper, [...path, at])) : [];
  if (!isObject(data)) return [];
  const steps = key === "*" ? Object.keys(data) : [key];
  return steps.flatMap((step) => (Object.hasOwn(data, step) ? valuesAt(data[step], deeper, [...path, step]) : []));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
