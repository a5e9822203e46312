#!/usr/bin/env node
// Starts the knack binary from the package for this system, which npm installed as an optional
// dependency.
"use strict";
const { spawn } = require("child_process");

const name = `@knack-dev/knack-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/knack${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`knack: the package ${name} is not installed. Install @knack-dev/knack without --omit=optional;` +
    " if npm has no such package, knack is not built for this system.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (err) => {
  console.error(`knack: cannot start ${program}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
