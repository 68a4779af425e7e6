// A tool loop and a retry in vitest: mockllm run -- npx vitest run
import OpenAI from "openai";
import { afterEach, beforeEach, expect, test } from "vitest";

const TOOLS = [{ type: "function", function: { name: "get_weather" } }];
let key;

async function control(method, path, body) {
  const response = await fetch(`${process.env.MOCKLLM_URL}/control/${path}`, {
    method,
    headers: { "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

// The API key is the session: what one test scripts, no other one sees.
const script = (name, steps) => control("PUT", `scenarios/${name}?session=${key}`, { name, steps });

beforeEach(({ task }) => {
  key = `vitest-${task.id}`;
});

afterEach(async () => {
  const verdict = await control("GET", `verdict?session=${key}`);
  expect(verdict.passed, verdict.text).toBe(true);
});

test("a tool is called and its result answered", async () => {
  await script("weather", [
    {
      match: { messages: [{ role: "user", contains: "weather" }] },
      produce: { tool_calls: [{ name: "get_weather", arguments: { city: "Paris" } }] },
    },
    { match: { messages: [{ role: "tool", contains: "sunny" }] }, produce: { text: "Go out." } },
  ]);
  const client = new OpenAI({ apiKey: key });
  const messages = [{ role: "user", content: "How is the weather?" }];
  const ask = () => client.chat.completions.create({ model: "gpt-4o", messages, tools: TOOLS });
  const { message } = (await ask()).choices[0];
  expect(message.tool_calls[0].function.arguments).toBe('{"city":"Paris"}');
  messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" });
  expect((await ask()).choices[0].message.content).toBe("Go out.");
});

test("a request that was refused is tried again", async () => {
  const fault = { kind: "http", status: 429, retry_after_ms: 10 };
  await script("busy", [{ produce: { fault } }, { produce: { text: "At last." } }]);
  const answer = await new OpenAI({ apiKey: key }).responses.create({ model: "gpt-4o", input: "Hi" });
  expect(answer.output_text).toBe("At last.");
});
