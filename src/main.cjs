#!/usr/bin/env node
// src/main.ts is a link to this file. The file is plain CommonJS without types, so that a Node version that can't run the agent can still
// read it and print an error. Without its version check, the database addon would end Node 20 without a message.
"use strict";
const NEEDED = 24;
/** Cache folder if the service manager gives no folder. null: compiled code isn't kept. */
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

/**
 * Makes `ps -o comm` and `top` show the program's name instead of Node's "MainThread". `process.title` would also overwrite the arguments.
 */
function nameProcess() {
  try {
    process.getBuiltinModule("node:fs").writeFileSync("/proc/self/comm", "booth-gateway");
  } catch {
    // Keeps the name that Node has set if /proc is missing.
  }
}

/**
 * Enables Node's compile cache. From the second start on, no thread needs to load the type stripper (a WebAssembly module). Threads inherit
 * the setting.
 */
function keepCompiledCode() {
  // Does not use the temporary folder, because other users could put code there.
  const folder = process.env.CACHE_DIRECTORY ?? OWN_CACHE;
  if (folder === null) return;
  process.env.NODE_COMPILE_CACHE ??= folder;
  process.getBuiltinModule("node:module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
}
