// The session of one test on the server: its stubs, scenarios, requests and verdict.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

// Conditions in the name of a step are cut after this.
const MAX_NAME_CHARS = 60;
const CONDITIONS = new Set(["model", "once", "provider", "text", "toolResult", "tools", "turn"]);
const OPTIONS = new Set(["allowUnserved", "judge", "scenarios", "strict"]);

/** A step of a test, begun with `mockllm.on(…)`. */
export class Stub {
  #session;
  #conditions;
  #failures = [];
  #answer = {};

  constructor(session, name, conditions) {
    this.#session = session;
    this.name = name;
    this.#conditions = conditions;
  }

  reply(text, produce = {}) {
    return this.respond({ text, ...produce });
  }

  toolCall(name, args = {}) {
    const call = typeof args === "string" ? { name, input: args } : { name, arguments: args };
    return this.respond({ tool_calls: [...(this.#answer.tool_calls ?? []), call] });
  }

  fail(status, { times = 1, retryAfterMs } = {}) {
    const fault = { kind: "http", status };
    if (retryAfterMs !== undefined) fault.retry_after_ms = retryAfterMs;
    this.#failures.push(...Array.from({ length: times }, () => ({ fault })));
    return this.#loadSteps();
  }

  respond(produce) {
    Object.assign(this.#answer, produce);
    return this.#loadSteps();
  }

  get isEmpty() {
    return !this.#failures.length && !Object.keys(this.#answer).length;
  }

  #loadSteps() {
    const { turn, once = false } = this.#conditions;
    const match = buildMatch(this.#conditions);
    const step = (produce, consume) => ({ ...(turn && { turn }), match, consume, produce });
    const steps = this.#failures.map((produce) => step(produce, true));
    if (Object.keys(this.#answer).length) steps.push(step(this.#answer, once));
    this.#session.scenario({ name: this.name, steps });
    return this;
  }
}

export class Session {
  #control;
  #stubs = [];
  // Documents that are not sent to the server yet, by name.
  #unsent = new Map();
  #sending = Promise.resolve();
  #folder;

  constructor({ url, apiKey, folder, control }) {
    this.baseUrl = url;
    this.openaiBaseUrl = `${url}/v1`;
    this.apiKey = apiKey;
    this.options = {};
    this.#folder = folder;
    this.#control = control;
  }

  on(text, conditions = {}) {
    const allConditions = typeof text === "string" ? { text, ...conditions } : { ...text };
    refuseUnknown("mockllm.on", allConditions, CONDITIONS);
    const parts = Object.entries(allConditions)
      .filter(([name, value]) => name !== "once" && value !== undefined)
      .map(([name, value]) => `${name === "text" ? "" : `${name}=`}${JSON.stringify(value)}`);
    const number = String(this.#stubs.length + 1).padStart(2, "0");
    // The names of equal steps decide, so number 100 has to follow 99 in their order.
    const prefix = "~".repeat(number.length - 2) + number;
    const name = `${prefix} on(${parts.join(", ").slice(0, MAX_NAME_CHARS)})`;
    const stub = new Stub(this, name, allConditions);
    this.#stubs.push(stub);
    return stub;
  }

  scenario(...documents) {
    for (const one of documents) {
      const parsed = typeof one === "string" ? this.#readFile(one) : one;
      for (const document of parsed.scenarios ?? [parsed]) {
        this.#unsent.set(document.name ?? "unnamed", document);
      }
    }
    return this;
  }

  configure(options) {
    refuseUnknown("mockllm.configure", options, OPTIONS);
    Object.assign(this.options, options);
  }

  async flush() {
    const documents = [...this.#unsent];
    this.#unsent.clear();
    this.#sending = this.#sending.then(async () => {
      for (const [name, document] of documents) {
        const path = `scenarios/${encodeURIComponent(name)}`;
        await this.#control("PUT", path, { query: { session: this.apiKey }, body: document });
      }
    });
    return this.#sending;
  }

  async requests() {
    const entries = [];
    for (let after = ""; after !== null; ) {
      const query = { session: this.apiKey, ...(after && { after }) };
      const page = await this.#control("GET", "requests", { query });
      for (const { id } of page.requests) {
        entries.push(await this.#control("GET", `requests/${id}`));
      }
      after = page.next ?? null;
    }
    return entries;
  }

  async verify(text, conditions = {}) {
    const options = typeof text === "string" ? { text, ...conditions } : { ...text };
    const { times, atLeast, atMost, ...match } = options;
    refuseUnknown("mockllm.verify", match, CONDITIONS);
    const counts = { equals: times, at_least: atLeast, at_most: atMost };
    const numbers = Object.entries(counts).filter(([, number]) => number !== undefined);
    const count = numbers.length ? Object.fromEntries(numbers) : { at_least: 1 };
    const body = { session: this.apiKey, match: buildMatch(match), count };
    const result = await this.#control("POST", "verify", { body });
    if (result.passed) return;
    const [[operator, number]] = Object.entries(count);
    const words = operator.replace("_", " ").replace("equals", "exactly");
    const near = result.nearest.flatMap(({ path, mismatches }) =>
      mismatches.map((one) => `  ${path}: ${one.field} wants ${one.expected}, got ${one.actual}`),
    );
    const head = `expected ${words} ${number} such requests, there were ${result.count}`;
    throw errorWithoutStack([head, ...near].join("\n"));
  }

  /** Return the verdict on the session, which the server then resets. */
  async end() {
    await this.flush();
    const { allowUnserved, scenarios = [], strict = false } = this.options;
    const body = { session: this.apiKey, strict, scenarios: JSON.stringify(scenarios) };
    if (allowUnserved) body.allow_unserved = "*";
    return this.#control("POST", "verdict", { body });
  }

  get emptyStubs() {
    return this.#stubs.filter((stub) => stub.isEmpty).map((stub) => stub.name);
  }

  #readFile(path) {
    const file = resolve(this.#folder, path);
    try {
      return JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      throw errorWithoutStack(`${path}: ${error.message}`);
    }
  }
}

/** Return an error without a stack, which would show only this package. */
export function errorWithoutStack(message) {
  const error = new Error(message);
  error.stack = `Error: ${message}`;
  return error;
}

function buildMatch({ text, toolResult, model, provider, tools }) {
  const texts = [
    ["user", text],
    ["tool", toolResult],
  ];
  const messages = texts
    .filter(([, part]) => part !== undefined)
    .map(([role, contains]) => ({ role, which: "new", contains, ignore_case: true }));
  const match = { model, provider, tools: typeof tools === "string" ? [tools] : tools };
  const values = Object.entries(match).filter(([, value]) => value !== undefined);
  return { ...(messages.length && { messages }), ...Object.fromEntries(values) };
}

/** Throw a TypeError if an object has a key that is not known. */
function refuseUnknown(method, options, known) {
  for (const name of Object.keys(options)) {
    if (!known.has(name)) {
      throw new TypeError(`${method}: unknown ${name}; known are ${[...known].join(", ")}`);
    }
  }
}
