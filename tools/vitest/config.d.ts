/** Options of the server of a run. */
export interface MockllmOptions {
  /** How to start mockllm; by default MOCKLLM_COMMAND, a `.venv` of the project, or the PATH. */
  command?: string | string[];
  /** Files or folders of scenarios that all tests share, relative to the project. */
  scenarios?: string[];
  /** Fixtures to load (`mockllm serve --fixture`). */
  fixtures?: string[];
  /** Settings of the server: environment variables such as MOCKLLM_WORDS_PER_SECOND. */
  settings?: Record<string, string>;
  /** False starts a server with the chat, the admin and all pages; it needs the extra `server`. */
  light?: boolean;
  /** The address of a running server; by default MOCKLLM_URL. No server is started then. */
  url?: string;
  /** Milliseconds in which the server has to start; by default 60,000. */
  timeout?: number;
}

/** A plugin of vite. */
export interface MockllmPlugin {
  name: string;
  config: () => object;
}

/** Return the plugin for `plugins` of vitest.config. */
export declare function mockllm(options?: MockllmOptions): MockllmPlugin;
export default mockllm;
