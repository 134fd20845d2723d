import { writeSchemas } from "../config/schemas.ts";
import { CommandError, EXIT, type Command } from "./command.ts";

export const schemasCommand: Command = {
  name: "schemas",
  operands: "FOLDER",
  summary: "write the JSON Schemas of configuration and profiles, for editors",
  options: {},
  notes: [],
  run({ operands, io }) {
    const [folder] = operands;
    if (folder === undefined) throw new CommandError("name the folder to write to", EXIT.usage);
    io.out(`${writeSchemas(folder).join("\n")}\n`);
    return Promise.resolve(EXIT.ok);
  },
};
