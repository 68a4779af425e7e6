// `mockllm`: the session of the running test.
import { currentSession } from "./state.mjs";

/** Every property is that of the running test's session. */
export const mockllm = new Proxy(
  {},
  {
    get(_, name) {
      const session = currentSession();
      if (!session) {
        throw new Error(
          `mockllm.${String(name)} is used outside of a test, or vitest.config lacks ` +
            'plugins: [mockllm()] from "mockllm-vitest/config"',
        );
      }
      const value = session[name];
      return typeof value === "function" ? value.bind(session) : value;
    },
  },
);
