#!/usr/bin/env node
// simulators/main.ts is a link to this file, for the reason told in src/main.cjs.
"use strict";
const NEEDED = 24;
if (Number(process.versions.node.split(".")[0]) < NEEDED) {
  process.stderr.write(
    `booth-sim needs Node ${NEEDED} and was started with ${process.version}: start it by npm or npx in its folder, ` +
      "which bring their own Node (after npm ci), or put a newer Node first in PATH.\n",
  );
  process.exit(69);
}
// From the second start on nothing strips types; in no temporary folder, where others could put code for us to run.
process.env.NODE_COMPILE_CACHE ??= `${__dirname}/../node_modules/.cache/booth-sim`;
process.getBuiltinModule("node:module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
void import("./commands.ts").then(({ main }) => main(process.argv.slice(2)));
