import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

import { gatewaySchema } from "./gateway-schema.ts";
import { profileSchema } from "./profile-schema.ts";

const SCHEMAS: Readonly<Record<string, { readonly schema: z.ZodType; readonly title: string }>> = {
  "profile.schema.json": { schema: profileSchema, title: "Profile: the tags of one PLC program" },
  "gateway.schema.json": { schema: gatewaySchema, title: "Configuration of booth-gateway" },
};

/** Makes the JSON Schemas for editors, by file name, from the schemas of the loaders. Pure. */
export function jsonSchemas(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(SCHEMAS).map(([file, { schema, title }]) => {
      const { $schema, ...body } = z.toJSONSchema(schema, { io: "input" });
      return [file, `${JSON.stringify({ $schema, title, ...body }, null, 2)}\n`];
    }),
  );
}

/** Writes the JSON Schemas into a folder, and makes the folder if it is missing. Returns the paths of the schemas. */
export function writeSchemas(dir: string): readonly string[] {
  mkdirSync(dir, { recursive: true });
  return Object.entries(jsonSchemas()).map(([file, text]) => {
    const path = join(dir, file);
    writeFileSync(path, text);
    return path;
  });
}
