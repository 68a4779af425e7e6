// The session of the test that runs, kept on `globalThis`: vitest may load this package twice.
import { AsyncLocalStorage } from "node:async_hooks";

const STATE = Symbol.for("mockllm-vitest");

/** `running` has the sessions of running tests by the id of their task. */
export const state = (globalThis[STATE] ??= {
  storage: new AsyncLocalStorage(),
  running: new Map(),
});

/**
 * Return the session of the running test, or undefined outside of tests. Throws if several tests run
 * and this vitest does not tell them apart.
 */
export function currentSession() {
  const id = state.storage.getStore();
  if (id !== undefined) return state.running.get(id);
  if (state.running.size > 1) {
    throw new Error("mockllm: concurrent tests need vitest 4.1, which tells their requests apart");
  }
  const [session] = state.running.values();
  return session;
}
