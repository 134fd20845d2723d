/** A JSON object that is still being built. */
export interface Json {
  [name: string]: unknown;
}

export function kindOf(value: unknown): "object" | "array" | "other" {
  if (Array.isArray(value)) return "array";
  return typeof value === "object" && value !== null ? "object" : "other";
}

/** Returns the object under that name; adds an empty one if it is absent. */
export function objectIn(parent: Json, name: string): Json {
  return (parent[name] ??= {}) as Json;
}

/** Replaces each property of a schema, at any depth. `change` gets its path, such as data[].duration. */
export function mapProperties(schema: Json, change: (path: string, property: Json) => Json, at = ""): Json {
  const made: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties" && kindOf(value) === "object") {
      made[key] = Object.fromEntries(
        Object.entries(value as Json).map(([name, inner]) => {
          const path = at === "" ? name : `${at}.${name}`;
          return [name, change(path, mapProperties(inner as Json, change, path))];
        }),
      );
    } else if (key === "items" && kindOf(value) === "object")
      made[key] = mapProperties(value as Json, change, `${at}[]`);
    else if (key === "additionalProperties" && kindOf(value) === "object")
      made[key] = mapProperties(value as Json, change, `${at}{}`);
    else if (["anyOf", "oneOf", "allOf"].includes(key) && kindOf(value) === "array")
      made[key] = (value as Json[]).map((one) => mapProperties(one, change, at));
    else made[key] = value;
  }
  return made;
}
