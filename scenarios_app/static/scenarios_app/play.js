/* The editor of a conversation on the page Test. Alpine shows the fields; this script converts
   the document of `mockllm play` to fields and back. Keys without a field are kept. */
"use strict";

(() => {
  const readJson = (id) => JSON.parse(document.getElementById(id)?.textContent || "null");
  const splitNames = (text) => text.split(",").map((name) => name.trim()).filter(Boolean);
  const MODES = ["contains", "equals", "startswith", "regex"];
  const findMode = (condition) => MODES.find((mode) => mode in condition);

  function kindOf(turn) {
    if (turn.request) return "request";
    if (turn.retry) return "retry";
    return turn.tool_results ? "tools" : "user";
  }

  /* Converts a turn of the document to the values of its fields. */
  function toFields(turn, key) {
    const expect = turn.expect ?? {};
    const text = typeof expect.text === "string" ? { equals: expect.text } : (expect.text ?? {});
    const mode = findMode(text) ?? "contains";
    return {
      key,
      kind: kindOf(turn),
      user: turn.user ?? "",
      results: turn.tool_results ?? [{ name: "", content: "" }],
      request: turn.request ?? null,
      rest: expect,
      text,
      mode,
      expectedText: text[mode] ?? "",
      step: expect.step ?? "",
      status: expect.status ?? "",
      calls: (expect.tool_calls ?? []).map((call) => call.name).join(", "),
    };
  }

  /* Converts the values of a turn's fields to a turn of the document. */
  function toTurn(fields) {
    const expect = { ...fields.rest };
    const { [fields.mode]: _, ...otherConditions } = fields.text;
    const keptConditions = fields.mode === findMode(fields.text) ? otherConditions : {};
    delete expect.text;
    if (fields.expectedText) expect.text = { ...keptConditions, [fields.mode]: fields.expectedText };
    const setOrDelete = (name, value) => (value === "" ? delete expect[name] : (expect[name] = value));
    setOrDelete("step", fields.step.trim());
    if (!fields.step.trim()) delete expect.scenario;
    setOrDelete("status", fields.status === "" ? "" : Number(fields.status));
    const names = splitNames(fields.calls);
    const oldCalls = expect.tool_calls ?? [];
    if (names.length) {
      expect.tool_calls = names.map((name, i) => (oldCalls[i]?.name === name ? oldCalls[i] : { name }));
    } else if (oldCalls.length) delete expect.tool_calls;
    const input = {
      user: () => ({ user: fields.user }),
      tools: () => ({ tool_results: fields.results }),
      retry: () => ({ retry: true }),
      request: () => ({ request: fields.request }),
    }[fields.kind]();
    return Object.keys(expect).length ? { ...input, expect } : input;
  }

  window.conversation = () => {
    const conversation = readJson("conversation") ?? {};
    let lastKey = 0;
    const nextKey = () => (lastKey += 1);
    return {
      provider: conversation.provider ?? "openai",
      model: conversation.model ?? "gpt-4o",
      system: conversation.system ?? "",
      tools: (conversation.tools ?? []).join(", "),
      stream: conversation.stream ?? false,
      turns: (conversation.turns ?? []).map((turn) => toFields(turn, nextKey())),
      addTurn(kind) {
        const newTurn = {
          user: () => ({ user: "" }),
          tools: () => ({ tool_results: [{ name: this.tools.split(",")[0].trim(), content: "" }] }),
          retry: () => ({ retry: true }),
        }[kind]();
        this.turns.push(toFields(newTurn, nextKey()));
        this.$nextTick(() => [...this.$root.querySelectorAll(".sc-turn")].at(-1).querySelector("textarea, input")?.focus());
      },
      removeTurn(turn) {
        this.turns = this.turns.filter((other) => other !== turn);
      },
      /* Makes the answer that a turn got the expected one. */
      acceptAnswer(index) {
        const expect = (readJson("came") ?? [])[index];
        const turn = this.turns[index];
        if (!expect || !turn) return;
        const { kind, user, results, request } = turn;
        Object.assign(turn, toFields({ expect }, turn.key), { kind, user, results, request });
      },
      get document() {
        return JSON.stringify({
          ...conversation,
          provider: this.provider,
          model: this.model,
          system: this.system,
          tools: splitNames(this.tools),
          stream: this.stream,
          turns: this.turns.map(toTurn),
        });
      },
    };
  };
})();
