// ollama-js: chat, generate, tools, embeddings, models.
import assert from "node:assert/strict";
import test from "node:test";
import { Ollama } from "ollama";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collect, key, url, user } from "./shared.mjs";

const model = "llama3.2";
const client = () => new Ollama({ host: url, headers: { Authorization: `Bearer ${key()}` } });
const chat = (content, fields = {}) => ({ model, messages: [user(content)], ...fields });
const tools = [{ type: "function", function: WEATHER }];

test("text, streamed or not", async () => {
  const completion = await client().chat(chat("hello"));
  assert.equal(completion.message.content, TEXT);
  assert.deepEqual([completion.done_reason, completion.prompt_eval_count], ["stop", 64]);
  const { items, error } = await collect(client().chat(chat("hello", { stream: true })));
  assert.equal(error, null);
  assert.equal(items.map((line) => line.message.content).join(""), TEXT);
  assert.equal(items.at(-1).done, true);
});

test("generate, streamed or not", async () => {
  const completion = await client().generate({ model, prompt: "hello" });
  assert.equal(completion.response, TEXT);
  const { items } = await collect(client().generate({ model, prompt: "hello", stream: true }));
  assert.equal(items.map((line) => line.response).join(""), TEXT);
  assert.deepEqual(items.at(-1).context, completion.context);
});

test("thinking", async () => {
  const { message } = await client().chat(chat("think", { think: true }));
  assert.deepEqual([message.thinking, message.content], ["First I think.", "Then I speak."]);
});

test("a tool is called and its result returned", async () => {
  const api = client();
  const { items } = await collect(api.chat(chat("weather", { tools, stream: true })));
  const calls = items.flatMap((line) => line.message.tool_calls ?? []);
  assert.deepEqual(calls[0].function.arguments, ARGUMENTS);
  const content = items.map((line) => line.message.content).join("");
  const messages = [
    user("weather"),
    { role: "assistant", content, tool_calls: calls },
    { role: "tool", tool_name: "get_weather", content: RESULT },
  ];
  const answer = await api.chat(chat("weather", { tools, messages }));
  assert.equal(answer.message.content, SUNNY);
});

test("errors", async () => {
  for (const [prompt, status, message] of [
    ["limit", 429, /Slow down/],
    ["nobody", 404, /no_scenario_matched/],
  ]) {
    await assert.rejects(client().chat(chat(prompt)), (error) => {
      assert.equal(error.status_code, status);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a broken stream raises an error", async () => {
  for (const prompt of ["cut", "broken"]) {
    const { items, error } = await collect(client().chat(chat(prompt, { stream: true })));
    assert.equal(items.map((line) => line.message.content).join(""), "one two");
    assert.ok(error, prompt);
  }
});

test("embeddings, models and version", async () => {
  const { embeddings } = await client().embed({ model: "nomic-embed-text", input: ["a", "b"] });
  assert.deepEqual(
    embeddings.map((vector) => vector.length),
    [768, 768],
  );
  const { models } = await client().list();
  assert.ok(models.some((entry) => entry.name === model));
  assert.ok((await client().show({ model })).capabilities.includes("tools"));
  assert.ok((await client().version()).version);
});
