// Each test has its own session, also concurrent and repeated tests and child processes.
import { execFileSync } from "node:child_process";
import { mockllm } from "mockllm-vitest";
import OpenAI from "openai";
import { beforeEach, describe, expect, test } from "vitest";

const client = new OpenAI({ apiKey: "a key of the program" });

async function ask(content, openai = client) {
  const messages = [{ role: "user", content }];
  const answer = await openai.chat.completions.create({ model: "gpt-4o", messages });
  return answer.choices[0].message.content;
}

describe("concurrent tests", () => {
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  test.concurrent.each(numbers)("number %i gets its own answer", async (number) => {
    mockllm.on("hello", { once: true }).reply(`Hi, ${number}!`);
    await new Promise((done) => setTimeout(done, number % 3));
    expect(await ask("Hello!")).toBe(`Hi, ${number}!`);
    await mockllm.verify("hello", { times: 1 });
  });
});

describe("steps of beforeEach", () => {
  beforeEach(() => void mockllm.on("hello", { once: true }).reply("Hi!"));

  test("answer the test", async () => expect(await ask("Hello!")).toBe("Hi!"));
  test("answer the next test anew", { repeats: 2 }, async () => {
    expect(await ask("Hello!")).toBe("Hi!");
  });
});

test("shared scenarios and files of the test answer", async () => {
  mockllm.scenario("own.json");
  expect(await ask("shared")).toBe("For all.");
  expect(await ask("own")).toBe("From a file.");
  const [first, second] = await mockllm.requests();
  expect([first.scenario, second.scenario]).toEqual(["shared", "own"]);
});

test("a client that is made in the test has its key", async () => {
  mockllm.on("hello").reply("Hi!");
  const own = new OpenAI();
  expect(own.apiKey).toBe(mockllm.apiKey);
  expect(await ask("Hello!", own)).toBe("Hi!");
});

test("a process that the test starts has its session", async () => {
  mockllm.on("hello").reply("Hi!");
  await mockllm.flush();
  const code = `
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] });
    const authorization = "Bearer " + process.env.MISTRAL_API_KEY;
    const headers = { authorization, "content-type": "application/json" };
    fetch("https://api.mistral.ai/v1/chat/completions", { method: "POST", headers, body })
      .then((response) => response.json())
      .then((answer) => console.log(answer.choices[0].message.content));`;
  expect(execFileSync(process.execPath, ["-e", code], { encoding: "utf8" })).toBe("Hi!\n");
  expect(await mockllm.requests()).toHaveLength(1);
});

test("a test without requests passes", () => expect(1).toBe(1));

test("steps need not answer where the test says so", () => {
  mockllm.configure({ allowUnserved: true });
  mockllm.on("never").reply("?");
});

test("a custom tool is called with a text", async () => {
  mockllm.on("hello").toolCall("shell", "ls");
  const tools = [{ type: "custom", custom: { name: "shell" } }];
  const messages = [{ role: "user", content: "Hello!" }];
  const answer = await client.chat.completions.create({ model: "gpt-4o", messages, tools });
  expect(answer.choices[0].message.tool_calls[0].custom.input).toBe("ls");
});
