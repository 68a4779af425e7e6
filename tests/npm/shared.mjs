// The server's URL, expected texts and helpers that all client scripts share.
export const url = process.env.MOCKLLM_URL;
export const TEXT = "Grüß dich, one two three four 🙂.";
export const SUNNY = "It is sunny in Paris.";
export const ARGUMENTS = { city: "Paris", days: [1, 2] };
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" }, days: { type: "array", items: { type: "number" } } },
};
export const WEATHER = {
  name: "get_weather",
  description: "Tells the weather.",
  parameters: SCHEMA,
};
export const RESULT = "18 degrees, sunny";
export const user = (content) => ({ role: "user", content });

// A new session for each test, so that tests do not share the counts of attempts.
let sessions = 0;
export const key = () => `npm-${process.pid}-${sessions++}`;

/** Collect the items of an async iterable; return them with the error that it raised, or null. */
export async function collect(stream) {
  const items = [];
  try {
    for await (const item of await stream) items.push(item);
  } catch (error) {
    return { items, error };
  }
  return { items, error: null };
}
