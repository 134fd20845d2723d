/** Checks an AsyncAPI file with the parser of its makers: node asyncapi.mjs FILE. Ends with 1 if it has errors. */
import { fromFile, Parser } from "@asyncapi/parser";

const { document, diagnostics } = await fromFile(new Parser(), process.argv[2]).parse();
/** 0: error; 1: warning. */
const problems = diagnostics.filter(({ severity }) => severity <= 1);
for (const { path, message } of problems) process.stderr.write(`${path.join(".")}: ${message}\n`);
process.exitCode = problems.length === 0 && document !== undefined ? 0 : 1;
