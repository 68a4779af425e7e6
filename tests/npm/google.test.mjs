// @google/genai: generateContent, streams, function calls, embeddings, token counts.
import assert from "node:assert/strict";
import test from "node:test";
import { ApiError, GoogleGenAI } from "@google/genai";
import { ARGUMENTS, RESULT, SUNNY, TEXT, WEATHER, collected, key, url } from "./asked.mjs";

const model = "gemini-2.5-flash";
const client = () =>
  new GoogleGenAI({ apiKey: key(), httpOptions: { baseUrl: url, retryOptions: { attempts: 1 } } });
const { parameters, ...named } = WEATHER;
const config = {
  tools: [{ functionDeclarations: [{ ...named, parametersJsonSchema: parameters }] }],
};

test("text, whole and streamed", async () => {
  const whole = await client().models.generateContent({ model, contents: "hello" });
  assert.equal(whole.text, TEXT);
  assert.equal(whole.usageMetadata.promptTokenCount, 64);
  assert.equal(whole.candidates[0].finishReason, "STOP");
  const { seen, error } = await collected(
    client().models.generateContentStream({ model, contents: "hello" }),
  );
  assert.equal(error, null);
  assert.equal(seen.map((chunk) => chunk.text ?? "").join(""), TEXT);
  assert.equal(seen.at(-1).candidates[0].finishReason, "STOP");
});

test("thoughts", async () => {
  const answer = await client().models.generateContent({ model, contents: "think" });
  const [thought, said] = answer.candidates[0].content.parts;
  assert.deepEqual([thought.thought, thought.text], [true, "First I think."]);
  assert.equal(thought.thoughtSignature, "c2ln");
  assert.equal(said.text, "Then I speak.");
});

test("a chat calls a function and tells its result", async () => {
  const chat = client().chats.create({ model, config });
  const first = await chat.sendMessage({ message: "weather" });
  const [call] = first.functionCalls;
  assert.deepEqual(call.args, ARGUMENTS);
  const functionResponse = { id: call.id, name: call.name, response: { output: RESULT } };
  const second = await chat.sendMessage({ message: [{ functionResponse }] });
  assert.equal(second.text, SUNNY);
});

test("errors", async () => {
  for (const [said, status] of [
    ["limit", 429],
    ["nobody", 404],
  ]) {
    await assert.rejects(client().models.generateContent({ model, contents: said }), (error) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.equal(error.status, status);
      return true;
    });
  }
});

test("a cut stream is told", async () => {
  const { seen, error } = await collected(
    client().models.generateContentStream({ model, contents: "cut" }),
  );
  assert.equal(seen.map((chunk) => chunk.text ?? "").join(""), "one two");
  assert.ok(error);
});

test("an error in a stream is told", async () => {
  const { error } = await collected(
    client().models.generateContentStream({ model, contents: "broken" }),
  );
  assert.match(String(error), /It fell over/);
});

test("embeddings, counts and models", async () => {
  const asked = { model: "gemini-embedding-001", contents: ["one", "two"] };
  const { embeddings } = await client().models.embedContent(asked);
  assert.equal(embeddings.length, 2);
  assert.ok(embeddings[0].values.length > 100);
  const { totalTokens } = await client().models.countTokens({ model, contents: "hello" });
  assert.ok(totalTokens > 0);
  const { seen } = await collected(client().models.list());
  assert.ok(seen.some((listed) => listed.name === `models/${model}`));
});
