#!/usr/bin/env node
// src/main.ts is a link to this file. It stays plain CommonJS without types, so that a Node that can't run the agent
// still reads it and can say so: the database addon ends Node 20 without a word.
"use strict";
const NEEDED = 24;
/** Where no service manager gives a folder; null: nothing is kept. */
const OWN_CACHE = `${__dirname}/../node_modules/.cache/booth-gateway`;
if (Number(process.versions.node.split(".")[0]) < NEEDED) {
  process.stderr.write(
    `booth-gateway needs Node ${NEEDED} and was started with ${process.version}: start it by npm or npx in its folder, ` +
      "which bring their own Node (after npm ci), or put a newer Node first in PATH.\n",
  );
  process.exit(69);
}
keepMemorySmall();
void require("./runtime/commands.ts").main(process.argv.slice(2));

/** All must come before any other module is loaded; threads inherit them. Together a third of the resident memory. */
function keepMemorySmall() {
  const v8 = process.getBuiltinModule("node:v8");
  // The young generation stays at its first 1 MB per half instead of 16: hardly anything of a poll outlives the poll.
  v8.setFlagsFromString("--semi-space-growth-factor=1");
  // The last and largest of the compilers stays out of memory, 6 MB of the program; the one before it makes code that is about as fast.
  v8.setFlagsFromString("--no-turbofan");
  // What only a start ran goes with the first collection after it, instead of the sixth.
  v8.setFlagsFromString("--bytecode-old-age=1");
  v8.setFlagsFromString("--flush-baseline-code");
  // Compiled code without types is kept on disk, so that from the second start on nothing loads the type stripper, a
  // WebAssembly module, in each thread. Not in the temporary folder, where others could put code for us to run.
  const folder = process.env.CACHE_DIRECTORY ?? OWN_CACHE;
  if (folder === null) return;
  process.env.NODE_COMPILE_CACHE ??= folder;
  process.getBuiltinModule("node:module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
}
