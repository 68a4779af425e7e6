// A streamed answer in a page, paced so that it is seen growing:
// mockllm run -- npx playwright test
import { expect, test } from "@playwright/test";

// What a page of yours does with a stream.
const PAGE = `<p id="answer"></p><script type="module">
  const response = await fetch("${process.env.OPENAI_BASE_URL}/chat/completions", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: "Bearer KEY" },
    body: JSON.stringify({
      model: "gpt-4o", stream: true, messages: [{ role: "user", content: "How is the weather?" }],
    }),
  });
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\\n");
    rest = lines.pop();
    for (const line of lines.filter((one) => one.startsWith("data: {")))
      answer.textContent += JSON.parse(line.slice(6)).choices[0]?.delta.content ?? "";
  }
</script>`;

test("the answer grows as it comes", async ({ page, request }, { testId: key }) => {
  const control = `${process.env.MOCKLLM_URL}/control`;
  const pacing = { words_per_chunk: 1, chunk_ms: 300 };
  const step = {
    match: { stream: true, messages: [{ contains: "weather" }] },
    produce: { text: "It is sunny in Paris.", pacing },
  };
  // The API key is the session: what one test scripts, no other one sees.
  const scripted = await request.put(`${control}/scenarios/weather?session=${key}`, {
    data: { name: "weather", steps: [step] },
  });
  expect(scripted.status(), await scripted.text()).toBe(201);
  const app = `${process.env.MOCKLLM_URL}/app`;
  await page.route(app, (route) =>
    route.fulfill({ contentType: "text/html", body: PAGE.replace("KEY", key) }),
  );
  await page.goto(app);
  await expect(page.locator("#answer")).toHaveText(/^It is( sunny)?$/);
  await expect(page.locator("#answer")).toHaveText("It is sunny in Paris.");
  const verdict = await (await request.get(`${control}/verdict?session=${key}`)).json();
  expect(verdict.passed, verdict.text).toBe(true);
});
