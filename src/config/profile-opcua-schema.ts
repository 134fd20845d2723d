import { z } from "zod";

/** What stands in a profile for an OPC UA server alone. */

const uri = z.string().min(1).max(500);
const name = z.string().min(1).max(500);

export const nodeSchema = z
  .union(
    [name, z.strictObject({ namespace: uri, id: name })],
    'a node is text such as "nsu=http://vendor/program/;s=Booth.Mode", or {namespace, id}',
  )
  .describe("nsu=URI;s=NAME, or s=NAME in the profile's namespace, or i=NUMBER with nsu=, or {namespace, id}.");

export const pathSchema = z
  .array(name)
  .min(1)
  .max(32)
  .describe("Names from the folder Objects down, each NAME in the profile's namespace or nsu=URI;NAME.");

export const opcuaSchema = z.strictObject({
  namespace: uri.exactOptional().describe("URI of the namespace of nodes and names that give none."),
  max_nodes_per_read: z
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe("Variables in one read at most, where the server's own limit isn't lower."),
});
