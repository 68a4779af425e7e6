// The MCP project's conformance suite, whole: what the server offers passes,
// and conformance.yml names what it does not offer. Later versions need Node 22.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import test from "node:test";
import { url } from "./asked.mjs";

const manifest = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json");
const program = join(dirname(manifest), "dist", "index.js");
const notOffered = join(import.meta.dirname, "conformance.yml");

test("the suite passes but for what the server does not offer", () => {
  const asked = ["server", "--url", `${url}/control/mcp`, "--expected-failures", notOffered];
  const done = spawnSync(process.execPath, [program, ...asked], { encoding: "utf8" });
  assert.equal(done.status, 0, done.stdout + done.stderr);
  const offered = ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"];
  for (const scenario of offered) {
    assert.match(done.stdout, new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`));
  }
});
