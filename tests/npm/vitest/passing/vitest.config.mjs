import { mockllm } from "mockllm-vitest/config";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    mockllm({ scenarios: ["shared.json"], settings: { MOCKLLM_WORDS_PER_SECOND: "0" } }),
  ],
  // A busy machine is slow.
  test: { include: ["*.spec.mjs"], testTimeout: 60_000 },
});
