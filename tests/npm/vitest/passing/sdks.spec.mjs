// Clients as programs create them: without arguments, most of them at import.
import { anthropic } from "@ai-sdk/anthropic";
import { google } from "@ai-sdk/google";
import { openai as openaiProvider } from "@ai-sdk/openai";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import { Mistral } from "@mistralai/mistralai";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { generateText, stepCountIs, streamText, tool as aiTool } from "ai";
import { mockllm } from "mockllm-vitest";
import ollama from "ollama";
import { ollama as ollamaProvider } from "ollama-ai-provider-v2";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const messages = [{ role: "user", content: "Hello!" }];
const openai = new OpenAI();
const claude = new Anthropic();
const gemini = new GoogleGenAI({});
const mistral = new Mistral();
setTracingDisabled(true);

const parameters = z.object({ city: z.string() });
const weather = { name: "get_weather", description: "Tells the weather.", parameters };
const models = {
  "openai responses": openaiProvider("gpt-4o"),
  "openai chat": openaiProvider.chat("gpt-4o"),
  anthropic: anthropic("claude-sonnet-5-5"),
  google: google("gemini-2.5-flash"),
  ollama: ollamaProvider("llama3.2"),
};

test("openai", async () => {
  mockllm.on("hello", { provider: "openai" }).fail(429, { retryAfterMs: 1 }).reply("Hi!");
  const answer = await openai.responses.create({ model: "gpt-4o", input: "Hello!" });
  expect(answer.output_text).toBe("Hi!");
  const stream = await openai.chat.completions.create({ model: "gpt-4o", messages, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  expect(text).toBe("Hi!");
  await mockllm.verify("hello", { times: 3 });
});

test("anthropic", async () => {
  mockllm.on("hello", { provider: "anthropic" }).reply("Hi!");
  const request = { model: "claude-sonnet-5-5", max_tokens: 9, messages };
  expect((await claude.messages.create(request)).content[0].text).toBe("Hi!");
  const final = await claude.messages.stream(request).finalMessage();
  expect(final.content[0].text).toBe("Hi!");
});

test("@google/genai", async () => {
  mockllm.on("hello", { provider: "gemini" }).reply("Hi!");
  const request = { model: "gemini-2.5-flash", contents: "Hello!" };
  expect((await gemini.models.generateContent(request)).text).toBe("Hi!");
});

test("ollama", async () => {
  mockllm.on("hello", { provider: "ollama" }).reply("Hi!");
  const answer = await ollama.chat({ model: "llama3.2", messages });
  expect(answer.message.content).toBe("Hi!");
});

test("mistral", async () => {
  mockllm.on("hello", { provider: "mistral" }).reply("Hi!");
  const answer = await mistral.chat.complete({ model: "mistral-large-latest", messages });
  expect(answer.choices[0].message.content).toBe("Hi!");
});

test("@openai/agents", async () => {
  mockllm.on("weather").toolCall("get_weather", { city: "Paris" });
  mockllm.on({ toolResult: "sunny" }).reply("Take sunglasses.");
  const tools = [tool({ ...weather, execute: ({ city }) => `sunny in ${city}` })];
  const agent = new Agent({ name: "weather", model: "gpt-4o", tools });
  expect((await run(agent, "The weather?")).finalOutput).toBe("Take sunglasses.");
});

describe("AI SDK", () => {
  test.each(Object.entries(models))("%s: a tool loop and a stream", async (_, model) => {
    mockllm.on("weather", { turn: 1 }).toolCall("get_weather", { city: "Paris" });
    mockllm.on({ toolResult: "sunny" }).reply("Take sunglasses.");
    mockllm.on("hello").reply("Hi!");
    const execute = ({ city }) => `sunny in ${city}`;
    const get_weather = aiTool({ inputSchema: parameters, execute });
    const request = { model, tools: { get_weather }, stopWhen: stepCountIs(3) };
    expect((await generateText({ ...request, prompt: "The weather?" })).text).toBe("Take sunglasses.");
    expect(await streamText({ model, prompt: "Hello!" }).text).toBe("Hi!");
  });
});
