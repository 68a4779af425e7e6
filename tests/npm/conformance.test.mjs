// The MCP project's conformance suite: the scenarios of a server with tools.
// Later versions of it need Node 22.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import test from "node:test";
import { url } from "./asked.mjs";

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const program = join(dirname(manifest), "dist", "index.js");
const scenarios = [
  "server-initialize",
  "ping",
  "tools-list",
  "dns-rebinding-protection",
];

for (const scenario of scenarios) {
  test(scenario, () => {
    const asked = ["server", "--url", `${url}/control/mcp`, "--scenario", scenario];
    const done = spawnSync(process.execPath, [program, ...asked], { encoding: "utf8" });
    assert.equal(done.status, 0, done.stdout + done.stderr);
    assert.match(done.stdout, /Passed: (\d+)\/\1, 0 failed/);
  });
}
