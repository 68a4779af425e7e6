// @anthropic-ai/sdk: messages, streams, tools, token counts.
import assert from "node:assert/strict";
import test from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { ARGUMENTS, RESULT, SCHEMA, SUNNY, TEXT, collect, key, url, user } from "./shared.mjs";

const client = (options = {}) =>
  new Anthropic({ baseURL: url, apiKey: key(), maxRetries: 0, ...options });
const messageRequest = (content, fields = {}) => ({
  model: "claude-sonnet-5-5",
  max_tokens: 99,
  messages: [user(content)],
  ...fields,
});
const tools = [{ name: "get_weather", description: "Tells the weather.", input_schema: SCHEMA }];
const textOf = (message) =>
  message.content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("");

test("text, streamed or not", async () => {
  const completion = await client().messages.create(messageRequest("hello"));
  assert.equal(textOf(completion), TEXT);
  assert.equal(completion.usage.input_tokens, 64);
  const { items, error } = await collect(
    client().messages.create(messageRequest("hello", { stream: true })),
  );
  assert.equal(error, null);
  const deltas = items.filter((event) => event.type === "content_block_delta");
  assert.equal(deltas.map((event) => event.delta.text).join(""), TEXT);
  assert.equal(items.at(-1).type, "message_stop");
});

test("the stream helper returns the complete message", async () => {
  const stream = client().messages.stream(messageRequest("think"));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content[0], {
    type: "thinking",
    thinking: "First I think.",
    signature: "c2ln",
  });
  assert.equal(textOf(final), "Then I speak.");
  assert.equal(final.stop_reason, "end_turn");
});

test("a tool is called and its result returned", async () => {
  const api = client();
  const first = await api.messages.stream(messageRequest("weather", { tools })).finalMessage();
  assert.equal(first.stop_reason, "tool_use");
  const use = first.content.find((block) => block.type === "tool_use");
  assert.deepEqual(use.input, ARGUMENTS);
  const result = { type: "tool_result", tool_use_id: use.id, content: RESULT };
  const messages = [
    user("weather"),
    { role: "assistant", content: first.content },
    user([result]),
  ];
  const second = await api.messages.create(messageRequest("weather", { tools, messages }));
  assert.equal(textOf(second), SUNNY);
});

test("errors", async () => {
  await assert.rejects(client().messages.create(messageRequest("limit")), (error) => {
    assert.ok(error instanceof Anthropic.RateLimitError);
    assert.match(error.message, /Slow down/);
    return true;
  });
  await assert.rejects(client().messages.create(messageRequest("nobody")), Anthropic.NotFoundError);
});

test("a client that retries gets its answer", async () => {
  const answer = await client({ maxRetries: 1 }).messages.create(messageRequest("busy"));
  assert.equal(textOf(answer), "At last.");
});

test("a broken stream raises an error", async () => {
  for (const prompt of ["cut", "broken"]) {
    const { items, error } = await collect(
      client().messages.create(messageRequest(prompt, { stream: true })),
    );
    const deltas = items.filter((event) => event.type === "content_block_delta");
    assert.equal(deltas.map((event) => event.delta.text).join(""), "one two");
    assert.ok(error, prompt);
  }
});

test("tokens are counted and models listed", async () => {
  const { max_tokens, ...countRequest } = messageRequest("hello");
  assert.ok((await client().messages.countTokens(countRequest)).input_tokens > 0);
  const { items } = await collect(client().models.list());
  assert.ok(items.length > 5);
});
