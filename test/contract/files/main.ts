import { breakingChanges } from "./breaking.ts";
import { contractOf, freeze, frozenEntries, writeFiles } from "./files.ts";

const frozen = frozenEntries();
const { files, entries } = contractOf(frozen);
const changes = breakingChanges(frozen, entries);
for (const change of changes) process.stderr.write(`breaking: ${change}\n`);
writeFiles(files);
freeze(frozen, entries);
process.stdout.write(`${Object.keys(files).length} files, ${entries.size} names\n`);
process.exitCode = changes.length === 0 ? 0 : 1;
