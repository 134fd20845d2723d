#!/usr/bin/env node
// src/main.ts is a link to this file. It stays plain CommonJS without types, so that a Node that can't run the agent
// still reads it and can say so: the database addon ends Node 20 without a word.
"use strict";
const NEEDED = 24;
if (Number(process.versions.node.split(".")[0]) < NEEDED) {
  process.stderr.write(
    `booth-gateway needs Node ${NEEDED} and was started with ${process.version}: start it by npm or npx in its folder, ` +
      "which bring their own Node (after npm ci), or put a newer Node first in PATH.\n",
  );
  process.exit(69);
}
void import("./compose.ts").then(({ main }) => main(process.argv.slice(2)));
