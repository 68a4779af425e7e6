// @google/genai: generateContent, streams, function calls, embeddings, token counts.
import assert from "node:assert/strict";
import test from "node:test";
import { ApiError, GoogleGenAI } from "@google/genai";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collect, key, url } from "./shared.mjs";

const model = "gemini-2.5-flash";
const client = () =>
  new GoogleGenAI({ apiKey: key(), httpOptions: { baseUrl: url, retryOptions: { attempts: 1 } } });
const { parameters, ...functionFields } = WEATHER;
const config = {
  tools: [{ functionDeclarations: [{ ...functionFields, parametersJsonSchema: parameters }] }],
};

test("text, streamed or not", async () => {
  const completion = await client().models.generateContent({ model, contents: "hello" });
  assert.equal(completion.text, TEXT);
  assert.equal(completion.usageMetadata.promptTokenCount, 64);
  assert.equal(completion.candidates[0].finishReason, "STOP");
  const { items, error } = await collect(
    client().models.generateContentStream({ model, contents: "hello" }),
  );
  assert.equal(error, null);
  assert.equal(items.map((chunk) => chunk.text ?? "").join(""), TEXT);
  assert.equal(items.at(-1).candidates[0].finishReason, "STOP");
});

test("thoughts", async () => {
  const answer = await client().models.generateContent({ model, contents: "think" });
  const [thought, textPart] = answer.candidates[0].content.parts;
  assert.deepEqual([thought.thought, thought.text], [true, "First I think."]);
  assert.equal(thought.thoughtSignature, "c2ln");
  assert.equal(textPart.text, "Then I speak.");
});

test("a chat calls a function and returns its result", async () => {
  const chat = client().chats.create({ model, config });
  const first = await chat.sendMessage({ message: "weather" });
  const [call] = first.functionCalls;
  assert.deepEqual(call.args, ARGUMENTS);
  const functionResponse = { id: call.id, name: call.name, response: { output: RESULT } };
  const second = await chat.sendMessage({ message: [{ functionResponse }] });
  assert.equal(second.text, SUNNY);
});

test("errors", async () => {
  for (const [prompt, status] of [
    ["limit", 429],
    ["nobody", 404],
  ]) {
    await assert.rejects(client().models.generateContent({ model, contents: prompt }), (error) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.equal(error.status, status);
      return true;
    });
  }
});

test("a truncated stream raises an error", async () => {
  const { items, error } = await collect(
    client().models.generateContentStream({ model, contents: "cut" }),
  );
  assert.equal(items.map((chunk) => chunk.text ?? "").join(""), "one two");
  assert.ok(error);
});

test("an error in a stream is raised", async () => {
  const { error } = await collect(
    client().models.generateContentStream({ model, contents: "broken" }),
  );
  assert.match(String(error), /It fell over/);
});

test("embeddings, counts and models", async () => {
  const embedRequest = { model: "gemini-embedding-001", contents: ["one", "two"] };
  const { embeddings } = await client().models.embedContent(embedRequest);
  assert.equal(embeddings.length, 2);
  assert.ok(embeddings[0].values.length > 100);
  const { totalTokens } = await client().models.countTokens({ model, contents: "hello" });
  assert.ok(totalTokens > 0);
  const { items } = await collect(client().models.list());
  assert.ok(items.some((entry) => entry.name === `models/${model}`));
});
