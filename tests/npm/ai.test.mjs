// The AI SDK over each provider: text, streams, objects, its own tool loop, errors.
import assert from "node:assert/strict";
import test from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, Output, generateText, stepCountIs, streamText, tool } from "ai";
import { createOllama } from "ollama-ai-provider-v2";
import { z } from "zod";
import { ARGUMENTS, RESULT, SUNNY, TEXT, key, url } from "./shared.mjs";

const models = {
  "openai chat": () => createOpenAI({ baseURL: `${url}/v1`, apiKey: key() }).chat("gpt-4o"),
  "openai responses": () => createOpenAI({ baseURL: `${url}/v1`, apiKey: key() })("gpt-4o"),
  anthropic: () => createAnthropic({ baseURL: `${url}/v1`, apiKey: key() })("claude-sonnet-5-5"),
  google: () =>
    createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: key() })("gemini-2.5-flash"),
  ollama: () =>
    createOllama({
      baseURL: `${url}/api`,
      headers: { Authorization: `Bearer ${key()}` },
    })("llama3.2"),
};
const toolInputs = [];
const tools = {
  get_weather: tool({
    description: "Tells the weather.",
    inputSchema: z.object({ city: z.string(), days: z.array(z.number()) }),
    execute: async (args) => {
      toolInputs.push(args);
      return RESULT;
    },
  }),
};

for (const [name, model] of Object.entries(models)) {
  test(`${name}: text`, async () => {
    const answer = await generateText({ model: model(), prompt: "hello" });
    assert.equal(answer.text, TEXT);
    assert.equal(answer.finishReason, "stop");
    assert.equal(answer.usage.inputTokens, 64);
  });

  test(`${name}: stream`, async () => {
    const answer = streamText({ model: model(), prompt: "hello" });
    const pieces = [];
    for await (const piece of answer.textStream) pieces.push(piece);
    assert.equal(pieces.join(""), TEXT);
    assert.ok(pieces.length > 1);
    assert.equal(await answer.finishReason, "stop");
  });

  test(`${name}: object`, async () => {
    const schema = z.object({ name: z.string(), people: z.number() });
    const output = Output.object({ schema });
    const answer = await generateText({ model: model(), output, prompt: "city" });
    assert.deepEqual(answer.output, { name: "Paris", people: 2_100_000 });
  });

  test(`${name}: the tool loop continues to the answer`, async () => {
    toolInputs.length = 0;
    const options = { tools, stopWhen: stepCountIs(5), prompt: "weather" };
    const completion = await generateText({ model: model(), ...options });
    assert.equal(completion.text, SUNNY);
    assert.equal(completion.steps.length, 2);
    const streamed = streamText({ model: model(), ...options });
    assert.equal(await streamed.steps.then((steps) => steps.at(-1).text), SUNNY);
    assert.deepEqual(toolInputs, [ARGUMENTS, ARGUMENTS]);
  });

  test(`${name}: errors`, async () => {
    for (const [prompt, status] of [
      ["limit", 429],
      ["nobody", 404],
    ]) {
      const generation = generateText({ model: model(), prompt, maxRetries: 0 });
      await assert.rejects(generation, (error) => {
        assert.ok(APICallError.isInstance(error), String(error));
        assert.equal(error.statusCode, status);
        return true;
      });
    }
  });

  test(`${name}: a client that retries gets its answer`, async () => {
    const answer = await generateText({ model: model(), prompt: "busy", maxRetries: 1 });
    assert.equal(answer.text, "At last.");
  });
}
