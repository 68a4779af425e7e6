import { mockllm } from "mockllm-vitest/config";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [mockllm()],
  // A busy machine is slow.
  test: { include: ["*.spec.mjs"], testTimeout: 60_000 },
});
