// openai-node: chat, Responses, embeddings, models.
import assert from "node:assert/strict";
import test from "node:test";
import OpenAI from "openai";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collect, key, url, user } from "./shared.mjs";

const model = "gpt-4o";
const client = (options = {}) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key(), maxRetries: 0, ...options });
const chat = (content, fields = {}) => ({ model, messages: [user(content)], ...fields });
const tools = [{ type: "function", function: WEATHER }];

test("text, streamed or not", async () => {
  const completion = await client().chat.completions.create(chat("hello"));
  assert.equal(completion.choices[0].message.content, TEXT);
  assert.equal(completion.usage.prompt_tokens, 64);
  const { items, error } = await collect(
    client().chat.completions.create(chat("hello", { stream: true })),
  );
  assert.equal(error, null);
  const pieces = items.map((chunk) => chunk.choices[0]?.delta.content ?? "");
  assert.equal(pieces.join(""), TEXT);
  assert.equal(items.at(-1).choices[0].finish_reason, "stop");
});

test("the stream helper returns the complete answer", async () => {
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

test("the tool runner calls the tool and returns its result", async () => {
  const toolInputs = [];
  const run = client().chat.completions.runTools({
    ...chat("weather"),
    tools: [
      {
        type: "function",
        function: {
          ...WEATHER,
          parse: JSON.parse,
          function: (args) => {
            toolInputs.push(args);
            return RESULT;
          },
        },
      },
    ],
  });
  assert.equal(await run.finalContent(), SUNNY);
  assert.deepEqual(toolInputs, [ARGUMENTS]);
});

test("Responses, streamed or not, with a tool", async () => {
  const request = { model, input: "hello" };
  assert.equal((await client().responses.create(request)).output_text, TEXT);
  const { items, error } = await collect(client().responses.create({ ...request, stream: true }));
  assert.equal(error, null);
  const pieces = items.filter((event) => event.type === "response.output_text.delta");
  assert.equal(pieces.map((event) => event.delta).join(""), TEXT);
  assert.equal(items.at(-1).type, "response.completed");

  const api = client();
  const responseTools = [{ type: "function", strict: false, ...WEATHER }];
  const first = await api.responses.create({ model, input: "weather", tools: responseTools });
  const call = first.output.find((item) => item.type === "function_call");
  assert.deepEqual(JSON.parse(call.arguments), ARGUMENTS);
  const toolOutput = { type: "function_call_output", call_id: call.call_id, output: RESULT };
  const second = await api.responses.create({
    model,
    input: [user("weather"), ...first.output, toolOutput],
    tools: responseTools,
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

test("a broken stream raises an error", async () => {
  for (const prompt of ["cut", "broken"]) {
    const { items, error } = await collect(
      client().chat.completions.create(chat(prompt, { stream: true })),
    );
    const pieces = items.map((chunk) => chunk.choices[0]?.delta.content ?? "");
    assert.equal(pieces.join(""), "one two");
    assert.ok(error, prompt);
  }
});

test("embeddings come back as numbers", async () => {
  const request = { model: "text-embedding-3-small", input: ["one", "two"], dimensions: 8 };
  const { data } = await client().embeddings.create(request);
  assert.equal(data.length, 2);
  const length = Math.hypot(...data[0].embedding);
  assert.equal(data[0].embedding.length, 8);
  assert.ok(Math.abs(length - 1) < 1e-5, `length ${length}`);
});

test("models", async () => {
  const { items } = await collect(client().models.list());
  assert.ok(items.some((entry) => entry.id === model));
});
