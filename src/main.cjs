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
nameProcess();
keepCompiledCode();
void require("./runtime/commands.ts").main(process.argv.slice(2));

/** Lets `ps -o comm` and `top` show the program's name instead of Node's "MainThread". process.title would replace the arguments too. */
function nameProcess() {
  try {
    process.getBuiltinModule("node:fs").writeFileSync("/proc/self/comm", "booth-gateway");
  } catch {
    // Without /proc the name stays.
  }
}

/** From the second start on nothing loads the type stripper, a WebAssembly module, in each thread; threads inherit it. */
function keepCompiledCode() {
  // Not in the temporary folder, where others could put code for us to run.
  const folder = process.env.CACHE_DIRECTORY ?? OWN_CACHE;
  if (folder === null) return;
  process.env.NODE_COMPILE_CACHE ??= folder;
  process.getBuiltinModule("node:module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
}
