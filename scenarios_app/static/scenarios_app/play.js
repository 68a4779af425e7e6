/* The conversation that is written on the page Play it: Alpine shows it, this keeps it in the form
   of `mockllm play`. What the page has no field for stays as it is. */
"use strict";

(() => {
  const read = (id) => JSON.parse(document.getElementById(id)?.textContent || "null");
  const MODES = ["contains", "equals", "startswith", "regex"];

  function kindOf(turn) {
    if (turn.request) return "request";
    if (turn.retry) return "retry";
    return turn.tool_results ? "tools" : "user";
  }

  /* As the page edits it: every field there, text conditions as mode and words. */
  function opened(turn, key) {
    const expect = turn.expect ?? {};
    const text = typeof expect.text === "string" ? { equals: expect.text } : (expect.text ?? {});
    const mode = MODES.find((name) => name in text) ?? "contains";
    return {
      key,
      kind: kindOf(turn),
      user: turn.user ?? "",
      results: turn.tool_results ?? [{ name: "", content: "" }],
      request: turn.request ?? null,
      rest: expect,
      text,
      mode,
      words: text[mode] ?? "",
      step: expect.step ?? "",
      status: expect.status ?? "",
      calls: (expect.tool_calls ?? []).map((call) => call.name).join(", "),
    };
  }

  function closed(turn) {
    const expect = { ...turn.rest };
    const { [turn.mode]: _, ...others } = turn.text;
    const kept = turn.mode === MODES.find((name) => name in turn.text) ? others : {};
    delete expect.text;
    if (turn.words) expect.text = { ...kept, [turn.mode]: turn.words };
    const put = (name, value) => (value === "" ? delete expect[name] : (expect[name] = value));
    put("step", turn.step.trim());
    if (!turn.step.trim()) delete expect.scenario;
    put("status", turn.status === "" ? "" : Number(turn.status));
    const names = turn.calls.split(",").map((name) => name.trim()).filter(Boolean);
    const were = expect.tool_calls ?? [];
    if (names.length) {
      expect.tool_calls = names.map((name, i) => (were[i]?.name === name ? were[i] : { name }));
    } else if (were.length) delete expect.tool_calls;
    const asked = {
      user: () => ({ user: turn.user }),
      tools: () => ({ tool_results: turn.results }),
      retry: () => ({ retry: true }),
      request: () => ({ request: turn.request }),
    }[turn.kind]();
    return Object.keys(expect).length ? { ...asked, expect } : asked;
  }

  window.conversation = () => {
    const given = read("conversation") ?? {};
    let keys = 0;
    return {
      given,
      provider: given.provider ?? "openai",
      model: given.model ?? "gpt-4o",
      system: given.system ?? "",
      tools: (given.tools ?? []).join(", "),
      stream: given.stream ?? false,
      turns: (given.turns ?? []).map((turn) => opened(turn, (keys += 1))),
      add(kind) {
        this.turns.push(opened(kind === "retry" ? { retry: true } : kind === "tools" ? { tool_results: [{ name: this.tools.split(",")[0].trim(), content: "" }] } : { user: "" }, (keys += 1)));
        this.$nextTick(() => [...this.$root.querySelectorAll(".sc-turn")].at(-1).querySelector("textarea, input")?.focus());
      },
      drop(turn) {
        this.turns = this.turns.filter((one) => one !== turn);
      },
      take(index) {
        const came = (read("came") ?? [])[index];
        const turn = this.turns[index];
        if (came && turn) Object.assign(turn, opened({ expect: came }, turn.key), { kind: turn.kind, user: turn.user, results: turn.results, request: turn.request });
      },
      get document() {
        const names = this.tools.split(",").map((name) => name.trim()).filter(Boolean);
        return JSON.stringify({
          ...this.given,
          provider: this.provider,
          model: this.model,
          system: this.system,
          tools: names,
          stream: this.stream,
          turns: this.turns.map(closed),
        });
      },
    };
  };
})();
