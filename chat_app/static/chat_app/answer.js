// One answer on the page, while it comes and when it is there: thinking, text, tool cards, its end.

import { copy, make, pretty } from "./dom.js";
import { rendered } from "./markdown.js";

const CURSOR = "▌";
// Pieces that come faster are laid out together.
const LAYOUT_MS = 60;

export class AnswerView {
  // `actions(view)` gives the buttons below an answer that has ended.
  constructor({ actions = () => [], label = "" } = {}) {
    this.actions = actions;
    this.label = label;
    this.messageId = null;
    this.traceId = null;
    this.status = "running";
    this.tools = new Map();
    this.text = "";
    this.steps = [];
    this.said = "";
    this.current = null;
    this.thinking = null;
    this.body = make("div", { class: "body" });
    this.foot = make("div", { class: "foot" });
    this.cursor = make("span", { class: "cursor", "aria-hidden": "true" }, CURSOR);
    this.element = make("article", { class: "message assistant", "data-status": "running", "aria-label": "Answer" });
    if (label) this.element.append(make("h2", { class: "branch" }, label));
    this.element.append(this.body, this.foot);
    this.body.append(this.cursor);
  }

  // Takes in one event; gives true where it was the last.
  take(event) {
    switch (event.type) {
      case "started":
        this.traceId = event.trace_id;
        return false;
      case "thinking":
        this.addThinking(event.content);
        return false;
      case "chunk":
        this.addText(event.content);
        return false;
      case "tool_start":
        this.addTool(event.tool_call_id, event.tool_name, event.tool_args);
        return false;
      case "tool_output":
        this.addOutput(event);
        return false;
      case "tool_end":
        this.endTool(event.tool_call_id, event.status, event.duration_ms);
        return false;
      case "done":
        this.messageId = event.message_id;
        this.traceId = event.trace_id ?? this.traceId;
        this.end(event.cancelled ? "cancelled" : "complete");
        return true;
      case "error":
        this.end("failed", event.message);
        return true;
      default:
        return false;
    }
  }

  addThinking(content) {
    if (!this.thinking) {
      this.thinking = make("pre", { class: "thought" });
      this.place(make("details", { class: "thinking", open: true }, make("summary", {}, "Thinking"), this.thinking));
    }
    this.thinking.append(content);
  }

  addText(content) {
    if (!this.current) {
      this.current = make("div", { class: "text" });
      this.place(this.current);
      // The blank line after what came before a tool is the space between the two on the page.
      this.said = content.trimStart();
    } else {
      this.said += content;
    }
    this.text += content;
    this.waiting ??= setTimeout(() => this.layOut(), LAYOUT_MS);
  }

  // Shows what was said so far, up to where a tool was called.
  layOut() {
    clearTimeout(this.waiting);
    this.waiting = null;
    if (!this.current) return;
    this.current.replaceChildren(rendered(this.said), ...(this.status === "running" ? [this.cursor] : []));
  }

  addTool(id, name, args) {
    this.layOut();
    this.current = null;
    const state = make("span", { class: "tag" }, "running");
    const output = make("pre", { class: "output", hidden: true });
    const card = make(
      "details",
      { class: "tool", "data-tool": name },
      make("summary", {}, make("span", { class: "mono" }, name), state),
      make("pre", { class: "arguments" }, pretty(args)),
      output,
    );
    this.tools.set(id, { card, state, output });
    this.place(card);
  }

  addOutput({ tool_call_id: id, output, truncated, full_length: full }) {
    const tool = this.tools.get(id);
    if (!tool) return;
    tool.output.hidden = false;
    tool.output.textContent = output;
    if (truncated) tool.output.after(make("small", {}, `cut: ${full.toLocaleString()} characters in all`));
  }

  endTool(id, status, duration) {
    const tool = this.tools.get(id);
    if (!tool) return;
    const time = duration === undefined || duration === null ? "" : `, ${Math.round(duration)} ms`;
    tool.state.textContent = `${status}${time}`;
    tool.state.className = `tag ${status === "success" ? "good" : status === "cancelled" ? "warn" : "bad"}`;
  }

  // A stored call with its result.
  addCall(call) {
    this.addTool(call.id, call.name, call.arguments);
    const cut = call.result === null || call.result === undefined;
    if (!cut) this.addOutput({ tool_call_id: call.id, output: call.result, truncated: false });
    this.endTool(call.id, call.is_error ? "error" : cut ? "cancelled" : "success");
  }

  end(status, reason = "") {
    this.status = status;
    this.layOut();
    this.cursor.remove();
    this.element.dataset.status = status;
    const thought = this.body.querySelector(".thinking");
    if (thought && this.text) thought.open = false;
    this.foot.replaceChildren();
    if (status === "cancelled") this.foot.append(make("span", { class: "tag warn" }, "stopped"));
    if (status === "failed") this.foot.append(make("span", { class: "tag bad", title: reason }, "failed"));
    this.tellSteps(this.steps);
    this.foot.append(...this.buttons());
  }

  // Which steps of the mock it was.
  tellSteps(steps) {
    this.steps = steps;
    this.foot.querySelector(".steps")?.remove();
    if (steps.length) this.foot.prepend(make("span", { class: "steps", title: "The scenario and the step that answered" }, `answered by ${[...new Set(steps)].join(", ")}`));
  }

  buttons() {
    const buttons = [];
    if (this.text) {
      const button = make("button", { class: "plain", type: "button" }, "Copy");
      button.addEventListener("click", () => copy(this.text, button));
      buttons.push(button);
    }
    if (this.traceId) buttons.push(make("a", { class: "plain", href: `/traces/${this.traceId}/` }, "Trace"));
    return [...buttons, ...this.actions(this)];
  }

  place(element) {
    this.cursor.remove();
    this.body.append(element, this.cursor);
  }

  // A stored answer as it was.
  static of(message, options) {
    const view = new AnswerView(options);
    view.messageId = message.message_id;
    view.traceId = message.trace_id;
    view.feedback = message.feedback;
    const calls = new Map((message.tool_calls ?? []).map((call) => [call.id, call]));
    const parts = message.parts?.length ? message.parts : plain(message, calls);
    for (const part of parts) {
      if (part.type === "thinking") view.addThinking(part.content);
      else if (part.type === "text") view.addText(part.content);
      else if (calls.has(part.id)) view.addCall(calls.get(part.id));
    }
    view.text = message.content;
    view.steps = message.answered_by ?? [];
    view.end(message.status);
    return view;
  }
}

// Of an answer whose order nobody kept, the thinking comes first and the text last.
function plain(message, calls) {
  const parts = [];
  if (message.thinking) parts.push({ type: "thinking", content: message.thinking });
  for (const id of calls.keys()) parts.push({ type: "tool_call", id });
  if (message.content) parts.push({ type: "text", content: message.content });
  return parts;
}
