// Hooks of each test file: points clients at the server, and judges each test at its end.
import { createRequire } from "node:module";
import { dirname } from "node:path";
import * as vitest from "vitest";
import { Session, errorWithoutStack } from "./session.mjs";
import { currentSession, state } from "./state.mjs";

const { afterEach, beforeEach, inject } = vitest;
const require = createRequire(import.meta.url);
const clients = require("./clients.json");
const { patchFetch } = require("./redirect.cjs");
const server = inject("mockllmServer");
// Clients that are made outside of tests need a key to start.
const NO_KEY = "mockllm-vitest";
// Several runs may share a server.
const prefix = server.shared ? `vitest-${process.pid}-${Date.now()}` : "vitest";

setVariables();
const originalFetch = patchFetch(server.url, clients.hosts, async (headers, url) => {
  if (url.pathname.startsWith("/control/")) return;
  const session = currentSession();
  await session?.flush();
  setKey(headers, url, session?.apiKey ?? NO_KEY);
});

// vitest 4.1 and later; it tells concurrent tests apart.
vitest.aroundEach?.((runTest, { task }) => state.storage.run(task.id, runTest));

beforeEach(({ task }) => {
  const apiKey = `${prefix}-${task.file.projectName ?? ""}${task.id}`;
  const folder = dirname(task.file.filepath);
  state.running.set(task.id, new Session({ url: server.url, apiKey, folder, control }));
  for (const name of clients.keys) process.env[name] = apiKey;
});

afterEach(async ({ task }) => {
  const session = state.running.get(task.id);
  state.running.delete(task.id);
  for (const name of clients.keys) process.env[name] = NO_KEY;
  const [empty] = session.emptyStubs;
  const verdict = await session.end();
  const failed = task.result?.state === "fail";
  if (empty && !failed) {
    throw errorWithoutStack(`mockllm: ${empty} has no answer, for example .reply(text)`);
  }
  if (verdict.passed) return;
  const text = `mockllm: ${verdict.text}`;
  // A failed test keeps its own reason.
  if (failed || session.options.judge === false) console.error(text);
  else throw errorWithoutStack(text);
});

function setVariables() {
  for (const [name, path] of Object.entries(clients.variables)) {
    process.env[name] = `${server.url}${path}`;
  }
  for (const name of clients.keys) process.env[name] = NO_KEY;
  for (const name of clients.unset) delete process.env[name];
  for (const name of ["NO_PROXY", "no_proxy"]) {
    const hosts = (process.env[name] ?? "").split(",").filter(Boolean);
    process.env[name] = [...new Set([...hosts, "127.0.0.1", "localhost"])].join(",");
  }
  // Node processes that a test starts.
  const preload = `--require ${JSON.stringify(require.resolve("./redirect.cjs"))}`;
  const options = process.env.NODE_OPTIONS ?? "";
  if (!options.includes(preload)) process.env.NODE_OPTIONS = `${options} ${preload}`.trim();
  process.env.MOCKLLM_URL = server.url;
  process.env.MOCKLLM_HOSTS = JSON.stringify(clients.hosts);
}

/** Replace the key of the client by one that names the session. */
function setKey(headers, url, key) {
  if (headers.has("x-mockllm-session")) return;
  const names = ["x-goog-api-key", "x-api-key", "api-key"].filter((name) => headers.has(name));
  for (const name of names) headers.set(name, key);
  if (url.searchParams.has("key")) url.searchParams.set("key", key);
  else if (!names.length || headers.has("authorization")) {
    headers.set("authorization", `Bearer ${key}`);
  }
}

async function control(method, path, { query = {}, body } = {}) {
  const url = new URL(`/control/${path}`, server.url);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const headers = { "content-type": "application/json" };
  const token = process.env.MOCKLLM_CONTROL_TOKEN;
  if (token) headers.authorization = `Bearer ${token}`;
  let response;
  try {
    response = await originalFetch(url, { method, headers, body: body && JSON.stringify(body) });
  } catch (error) {
    const reason = error.cause?.message ?? error.message;
    throw errorWithoutStack(`mockllm: no server answers at ${server.url}: ${reason}`);
  }
  const answer = await response.json().catch(() => null);
  if (answer === null) {
    const status = `${server.url} answers ${response.status}, and not as a mockllm server`;
    throw errorWithoutStack(`mockllm: ${method} ${url.pathname}: ${status}`);
  }
  if (!response.ok) {
    throw errorWithoutStack(`mockllm: ${method} ${url.pathname}: ${answer.message}`);
  }
  return answer;
}
