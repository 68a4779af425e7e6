/** Conditions of a step; all of them have to hold. */
export interface Conditions {
  /** A user message since the last answer contains this; upper and lower case are equal. */
  text?: string;
  /** A tool's result since the last answer contains this; upper and lower case are equal. */
  toolResult?: string;
  model?: string;
  /** `openai`, `anthropic`, `gemini`, `ollama`, … */
  provider?: string;
  /** The request offers all of these tools. */
  tools?: string | string[];
  /** The answer has this number in the conversation, from 1. */
  turn?: number;
}

/** Keys of a step's `produce` in a scenario document, such as `latency_ms` or `usage`. */
export type Produce = Record<string, unknown>;

/** A step of a test. It answers every time, or only `once`; the first matching one answers. */
export interface Stub {
  readonly name: string;
  /** Answer with a text. */
  reply(text: string, produce?: Produce): this;
  /** Add a tool call to the answer; a custom tool takes a text instead of arguments. */
  toolCall(name: string, args?: Record<string, unknown> | string): this;
  /** Answer with an HTTP error in the provider's form, `times` times (1), first. */
  fail(status: number, options?: { times?: number; retryAfterMs?: number }): this;
  /** Answer in document form. */
  respond(produce: Produce): this;
}

/** The number of requests; without one, at least one. */
export interface Count {
  times?: number;
  atLeast?: number;
  atMost?: number;
}

/** How a test is judged. */
export interface VerdictOptions {
  /** Steps need not answer. */
  allowUnserved?: boolean;
  /** False: the verdict never fails the test. */
  judge?: boolean;
  /** Names of shared scenarios whose steps have to answer too; `*` is all. */
  scenarios?: string[];
  /** Warnings fail the test too. */
  strict?: boolean;
}

/** The session of the running test, which no other test shares. */
export interface Mockllm {
  readonly baseUrl: string;
  readonly openaiBaseUrl: string;
  /** The key that names the session. Requests of global `fetch` have it already. */
  readonly apiKey: string;
  /** Begin a step. */
  on(text: string, conditions?: Conditions & { once?: boolean }): Stub;
  on(conditions: Conditions & { once?: boolean }): Stub;
  /** Load scenarios for this test: documents, or paths of JSON files from the test's folder. */
  scenario(...documents: (string | Record<string, unknown>)[]): void;
  configure(options: VerdictOptions): void;
  /** Send steps to the server now. The next request does it, unless another process sends it. */
  flush(): Promise<void>;
  /** Reject unless this many requests match. */
  verify(text: string, conditions?: Conditions & Count): Promise<void>;
  verify(conditions: Conditions & Count): Promise<void>;
  /** The requests so far, with their answers, as in `/control/requests/ID`. */
  requests(): Promise<Record<string, unknown>[]>;
}

export declare const mockllm: Mockllm;
