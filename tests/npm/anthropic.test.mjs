// @anthropic-ai/sdk: messages, streams, tools, token counts.
import assert from "node:assert/strict";
import test from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { ARGUMENTS, RESULT, SCHEMA, SUNNY, TEXT, collected, key, url, user } from "./asked.mjs";

const client = (options = {}) =>
  new Anthropic({ baseURL: url, apiKey: key(), maxRetries: 0, ...options });
const asking = (content, fields = {}) => ({
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

test("text, whole and streamed", async () => {
  const whole = await client().messages.create(asking("hello"));
  assert.equal(textOf(whole), TEXT);
  assert.equal(whole.usage.input_tokens, 64);
  const { seen, error } = await collected(
    client().messages.create(asking("hello", { stream: true })),
  );
  assert.equal(error, null);
  const deltas = seen.filter((event) => event.type === "content_block_delta");
  assert.equal(deltas.map((event) => event.delta.text).join(""), TEXT);
  assert.equal(seen.at(-1).type, "message_stop");
});

test("the stream helper ends with the whole message", async () => {
  const stream = client().messages.stream(asking("think"));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content[0], {
    type: "thinking",
    thinking: "First I think.",
    signature: "c2ln",
  });
  assert.equal(textOf(final), "Then I speak.");
  assert.equal(final.stop_reason, "end_turn");
});

test("a tool is called and its result told", async () => {
  const api = client();
  const first = await api.messages.stream(asking("weather", { tools })).finalMessage();
  assert.equal(first.stop_reason, "tool_use");
  const use = first.content.find((block) => block.type === "tool_use");
  assert.deepEqual(use.input, ARGUMENTS);
  const result = { type: "tool_result", tool_use_id: use.id, content: RESULT };
  const messages = [
    user("weather"),
    { role: "assistant", content: first.content },
    user([result]),
  ];
  const second = await api.messages.create(asking("weather", { tools, messages }));
  assert.equal(textOf(second), SUNNY);
});

test("errors", async () => {
  await assert.rejects(client().messages.create(asking("limit")), (error) => {
    assert.ok(error instanceof Anthropic.RateLimitError);
    assert.match(error.message, /Slow down/);
    return true;
  });
  await assert.rejects(client().messages.create(asking("nobody")), Anthropic.NotFoundError);
});

test("a client that retries gets its answer", async () => {
  const answer = await client({ maxRetries: 1 }).messages.create(asking("busy"));
  assert.equal(textOf(answer), "At last.");
});

test("what breaks in a stream is told", async () => {
  for (const said of ["cut", "broken"]) {
    const { seen, error } = await collected(
      client().messages.create(asking(said, { stream: true })),
    );
    const deltas = seen.filter((event) => event.type === "content_block_delta");
    assert.equal(deltas.map((event) => event.delta.text).join(""), "one two");
    assert.ok(error, said);
  }
});

test("tokens are counted and models listed", async () => {
  const { max_tokens, ...counted } = asking("hello");
  assert.ok((await client().messages.countTokens(counted)).input_tokens > 0);
  const { seen } = await collected(client().models.list());
  assert.ok(seen.length > 5);
});
