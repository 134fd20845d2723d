import { writeSchemas } from "../config/schemas.ts";
import { EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";

export const schemasCommand: Run = ({ values, operands, io }) => {
  const [folder = ""] = operands;
  print({ values, io }, { files: writeSchemas(folder) }, ({ files }) => `${files.join("\n")}\n`);
  return Promise.resolve(EXIT.ok);
};
