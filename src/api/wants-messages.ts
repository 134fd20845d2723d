/** Returns whether the query asks for the codes and values of the messages in the answer. */
export function wantsMessages(query: Readonly<Record<string, string>>): boolean {
  return query["said"] === "true";
}
