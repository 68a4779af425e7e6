// An agent of the AI SDK: `PROVIDER [stream] [careful]`.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [provider, ...words] = process.argv.slice(2);
const options = {
  model: provider === "anthropic" ? anthropic("claude-sonnet-4-5") : openai("gpt-4o"),
  prompt: "What is the weather in Paris?",
  stopWhen: stepCountIs(5),
  tools: {
    get_weather: tool({
      description: "Tells the weather.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `sunny in ${city}`,
    }),
  },
};

function giveUp(reason) {
  console.error(`error: ${reason}`);
  process.exit(1);
}

let failure;
const onError = ({ error }) => {
  failure = error;
};
const result = words.includes("stream")
  ? streamText({ ...options, ...(words.includes("careful") ? { onError } : {}) })
  : await generateText(options);
const text = await result.text;
if (words.includes("careful")) {
  if (failure) giveUp(String(failure));
  const finish = await result.finishReason;
  if (finish !== "stop" && !(finish === "tool-calls" && text)) giveUp(`finish reason ${finish}`);
  if (!text) giveUp("the answer is empty");
}
console.log(text);
