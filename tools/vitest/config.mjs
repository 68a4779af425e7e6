// The vitest plugin: starts the server of a run, and gives each test file its hooks.
import { fileURLToPath } from "node:url";

const fileHere = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Return the plugin for `plugins` of vitest.config. */
export function mockllm(options = {}) {
  return {
    name: "mockllm",
    config: () => ({
      test: {
        globalSetup: [fileHere("global-setup.mjs")],
        setupFiles: [fileHere("setup.mjs")],
        provide: { mockllmOptions: options },
      },
    }),
  };
}

export default mockllm;
