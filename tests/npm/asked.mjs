// What every client is asked for, and what it has to hand back.
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

// Each test a session of its own, so that one's attempts are not another's.
let sessions = 0;
export const key = () => `npm-${process.pid}-${sessions++}`;

/** All of an async iterable, with what it raised instead of ending. */
export async function collected(stream) {
  const seen = [];
  try {
    for await (const item of await stream) seen.push(item);
  } catch (error) {
    return { seen, error };
  }
  return { seen, error: null };
}
