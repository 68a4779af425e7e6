// The complete conformance suite of the MCP project. Scenarios of features that the server
// does not offer are listed in conformance.yml. Later versions need Node 22.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import test from "node:test";
import { url } from "./shared.mjs";

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const program = join(dirname(manifest), "dist", "index.js");
const notOffered = join(import.meta.dirname, "conformance.yml");

test("the suite passes except for features that the server does not offer", () => {
  const options = ["--url", `${url}/control/mcp`, "--expected-failures", notOffered];
  const result = spawnSync(process.execPath, [program, "server", ...options], { encoding: "utf8" });
  assert.equal(result.status, 0, result.stdout + result.stderr);
  const offeredScenarios = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];
  for (const scenario of offeredScenarios) {
    assert.match(result.stdout, new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`));
  }
});
