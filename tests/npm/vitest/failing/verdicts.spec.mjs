// Tests that must fail, each for the reason in its name; `expected` is a part of the message.
import { mockllm } from "mockllm-vitest";
import OpenAI from "openai";
import { expect, test } from "vitest";

const client = new OpenAI({ maxRetries: 0 });
const ask = (input) => client.responses.create({ model: "gpt-4o", input });

test("unmatched: /v1/responses: no step answered", async () => {
  mockllm.on("hello").reply("Hi!");
  await ask("Hello!");
  await ask("Good bye!").catch(() => {});
});

test("never served: 01 on(\"hello\"), step 1", () => {
  mockllm.on("hello").reply("Hi!");
});

test("never asked: gemini", async () => {
  mockllm.on("hello", { provider: "gemini" }).reply("Hi!");
  mockllm.on("hello", { provider: "openai" }).reply("Hi!");
  await ask("Hello!");
});

test("expected 2 to be 3", async () => {
  await ask("Hello!").catch(() => {});
  expect(2).toBe(3);
});

test("01 on(\"hello\") has no answer", () => {
  mockllm.on("hello");
});

test("steps[0].produce.latency: unknown", async () => {
  mockllm.on("hello").reply("Hi!", { latency: 1 });
  await ask("Hello!");
});

test("expected exactly 2 such requests, there were 1", async () => {
  mockllm.on("hello").reply("Hi!");
  await ask("Hello!");
  await mockllm.verify("hello", { times: 2 });
});

test("mockllm.on: unknown modle", () => {
  mockllm.on("hello", { modle: "gpt-4o" });
});

test("missing.json: ENOENT", () => {
  mockllm.scenario("missing.json");
});

test.fails("a failed verdict is the expected failure", async () => {
  await ask("Hello!").catch(() => {});
});

test("a verdict that is not judged fails nothing", async () => {
  mockllm.configure({ judge: false });
  await ask("Hello!").catch(() => {});
});
