// ollama-js: chat, generate, tools, embeddings, models.
import assert from "node:assert/strict";
import test from "node:test";
import { Ollama } from "ollama";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collected, key, url, user } from "./asked.mjs";

const model = "llama3.2";
const client = () => new Ollama({ host: url, headers: { Authorization: `Bearer ${key()}` } });
const chat = (content, fields = {}) => ({ model, messages: [user(content)], ...fields });
const tools = [{ type: "function", function: WEATHER }];

test("text, whole and streamed", async () => {
  const whole = await client().chat(chat("hello"));
  assert.equal(whole.message.content, TEXT);
  assert.deepEqual([whole.done_reason, whole.prompt_eval_count], ["stop", 64]);
  const { seen, error } = await collected(client().chat(chat("hello", { stream: true })));
  assert.equal(error, null);
  assert.equal(seen.map((line) => line.message.content).join(""), TEXT);
  assert.equal(seen.at(-1).done, true);
});

test("generate, whole and streamed", async () => {
  const whole = await client().generate({ model, prompt: "hello" });
  assert.equal(whole.response, TEXT);
  const { seen } = await collected(client().generate({ model, prompt: "hello", stream: true }));
  assert.equal(seen.map((line) => line.response).join(""), TEXT);
  assert.deepEqual(seen.at(-1).context, whole.context);
});

test("thinking", async () => {
  const { message } = await client().chat(chat("think", { think: true }));
  assert.deepEqual([message.thinking, message.content], ["First I think.", "Then I speak."]);
});

test("a tool is called and its result told", async () => {
  const api = client();
  const { seen } = await collected(api.chat(chat("weather", { tools, stream: true })));
  const calls = seen.flatMap((line) => line.message.tool_calls ?? []);
  assert.deepEqual(calls[0].function.arguments, ARGUMENTS);
  const content = seen.map((line) => line.message.content).join("");
  const messages = [
    user("weather"),
    { role: "assistant", content, tool_calls: calls },
    { role: "tool", tool_name: "get_weather", content: RESULT },
  ];
  const told = await api.chat(chat("weather", { tools, messages }));
  assert.equal(told.message.content, SUNNY);
});

test("errors", async () => {
  for (const [said, status, message] of [
    ["limit", 429, /Slow down/],
    ["nobody", 404, /no_scenario_matched/],
  ]) {
    await assert.rejects(client().chat(chat(said)), (error) => {
      assert.equal(error.status_code, status);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("what breaks in a stream is told", async () => {
  for (const said of ["cut", "broken"]) {
    const { seen, error } = await collected(client().chat(chat(said, { stream: true })));
    assert.equal(seen.map((line) => line.message.content).join(""), "one two");
    assert.ok(error, said);
  }
});

test("embeddings, models and version", async () => {
  const { embeddings } = await client().embed({ model: "nomic-embed-text", input: ["a", "b"] });
  assert.deepEqual(
    embeddings.map((vector) => vector.length),
    [768, 768],
  );
  const { models } = await client().list();
  assert.ok(models.some((listed) => listed.name === model));
  assert.ok((await client().show({ model })).capabilities.includes("tools"));
  assert.ok((await client().version()).version);
});
