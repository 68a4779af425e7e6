// openai-node: chat, Responses, embeddings, models.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collected, key, url, user } from "./asked.mjs";

const model = "gpt-4o";
const client = (options = {}) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key(), maxRetries: 0, ...options });
const chat = (content, fields = {}) => ({ model, messages: [user(content)], ...fields });
const tools = [{ type: "function", function: WEATHER }];

test("text, whole and streamed", async () => {
  const whole = await client().chat.completions.create(chat("hello"));
  assert.equal(whole.choices[0].message.content, TEXT);
  assert.equal(whole.usage.prompt_tokens, 64);
  const { seen, error } = await collected(
    client().chat.completions.create(chat("hello", { stream: true })),
  );
  assert.equal(error, null);
  const pieces = seen.map((chunk) => chunk.choices[0]?.delta.content ?? "");
  assert.equal(pieces.join(""), TEXT);
  assert.equal(seen.at(-1).choices[0].finish_reason, "stop");
});

test("the stream helper ends with the whole answer", async () => {
  const stream = client().chat.completions.stream(chat("weather", { tools }));
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].message.content, "Let me look.");
  const [call] = final.choices[0].message.tool_calls;
  assert.deepEqual(JSON.parse(call.function.arguments), ARGUMENTS);
});

test("reasoning", async () => {
  const { choices } = await client().chat.completions.create(chat("think"));
  assert.equal(choices[0].message.reasoning, "First I think.");
  assert.equal(choices[0].message.content, "Then I speak.");
});

test("the tool runner calls and tells", async () => {
  const asked = [];
  const run = client().chat.completions.runTools({
    ...chat("weather"),
    tools: [
      {
        type: "function",
        function: {
          ...WEATHER,
          parse: JSON.parse,
          function: (args) => {
            asked.push(args);
            return RESULT;
          },
        },
      },
    ],
  });
  assert.equal(await run.finalContent(), SUNNY);
  assert.deepEqual(asked, [ARGUMENTS]);
});

test("Responses, whole and streamed, with a tool", async () => {
  const asked = { model, input: "hello" };
  assert.equal((await client().responses.create(asked)).output_text, TEXT);
  const { seen, error } = await collected(client().responses.create({ ...asked, stream: true }));
  assert.equal(error, null);
  const pieces = seen.filter((event) => event.type === "response.output_text.delta");
  assert.equal(pieces.map((event) => event.delta).join(""), TEXT);
  assert.equal(seen.at(-1).type, "response.completed");

  const api = client();
  const offered = [{ type: "function", strict: false, ...WEATHER }];
  const first = await api.responses.create({ model, input: "weather", tools: offered });
  const call = first.output.find((item) => item.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), ARGUMENTS);
  const told = { type: "function_call_output", call_id: call.call_id, output: RESULT };
  const second = await api.responses.create({
    model,
    input: [user("weather"), ...first.output, told],
    tools: offered,
  });
  assert.equal(second.output_text, SUNNY);
});

test("errors", async () => {
  await assert.rejects(client().chat.completions.create(chat("limit")), (error) => {
    assert.ok(error instanceof OpenAI.RateLimitError);
    assert.match(error.message, /Slow down/);
    return true;
  });
  await assert.rejects(client().chat.completions.create(chat("nobody")), (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.equal(error.code, "no_scenario_matched");
    return true;
  });
});

test("a client that retries gets its answer", async () => {
  const answer = await client({ maxRetries: 1 }).chat.completions.create(chat("busy"));
  assert.equal(answer.choices[0].message.content, "At last.");
});

test("what breaks in a stream is told", async () => {
  for (const said of ["cut", "broken"]) {
    const { seen, error } = await collected(
      client().chat.completions.create(chat(said, { stream: true })),
    );
    const pieces = seen.map((chunk) => chunk.choices[0]?.delta.content ?? "");
    assert.equal(pieces.join(""), "one two");
    assert.ok(error, said);
  }
});

test("embeddings come back as numbers", async () => {
  const asked = { model: "text-embedding-3-small", input: ["one", "two"], dimensions: 8 };
  const { data } = await client().embeddings.create(asked);
  assert.equal(data.length, 2);
  const length = Math.hypot(...data[0].embedding);
  assert.equal(data[0].embedding.length, 8);
  assert.ok(Math.abs(length - 1) < 1e-5, `length ${length}`);
});

test("models", async () => {
  const { seen } = await collected(client().models.list());
  assert.ok(seen.some((listed) => listed.id === model));
});
