// Shows one answer, streamed or stored: its thinking, text, tool cards and end.

import { copyText } from "../mockllm_site/copy.js";
import { createElement, formatJson } from "./dom.js";
import { renderMarkdown } from "./markdown.js";

const CURSOR = "▌";
// Chunks that arrive within this time are rendered together.
const RENDER_DELAY_MS = 60;
const STATUS_TONES = { success: "good", cancelled: "warn" };

export class AnswerView {
  // `createActions(view)` returns further buttons for below the finished answer, `createRetry(view)`
  // those beside the reason of a failed one.
  constructor({ createActions = () => [], createRetry = () => [], label = "" } = {}) {
    this.createActions = createActions;
    this.createRetry = createRetry;
    this.label = label;
    this.messageId = null;
    this.traceId = null;
    this.lastEventId = 0;
    this.status = "running";
    this.toolCards = new Map();
    this.text = "";
    this.answeringSteps = [];
    // The text since the last tool call, and its element.
    this.blockText = "";
    this.textBlock = null;
    this.thinking = null;
    this.renderTimer = null;
    this.body = createElement("div", { class: "body" });
    this.footer = createElement("div", { class: "foot" });
    this.cursor = createElement("span", { class: "cursor", "aria-hidden": "true" }, CURSOR);
    this.element = createElement("article", { class: "message assistant", "data-status": "running", "aria-label": "Answer" });
    if (label) this.element.append(createElement("h2", { class: "branch" }, label));
    this.element.append(this.body, this.footer);
    this.body.append(this.cursor);
  }

  // Shows an event. Returns true if it ends the run.
  applyEvent(event) {
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
        this.addToolCard(event.tool_call_id, event.tool_name, event.tool_args);
        return false;
      case "tool_output":
        this.showToolOutput(event);
        return false;
      case "tool_end":
        this.showToolStatus(event.tool_call_id, event.status, event.duration_ms);
        return false;
      case "done":
        this.messageId = event.message_id;
        this.traceId = event.trace_id ?? this.traceId;
        this.finish(event.cancelled ? "cancelled" : "complete");
        return true;
      case "error":
        this.finish("failed", event.message);
        return true;
      default:
        return false;
    }
  }

  addThinking(content) {
    if (!this.thinking) {
      this.thinking = createElement("pre", { class: "thought" });
      this.appendPart(createElement("details", { class: "thinking", open: true }, createElement("summary", {}, "Thinking"), this.thinking));
    }
    this.thinking.append(content);
  }

  addText(content) {
    if (!this.textBlock) {
      this.textBlock = createElement("div", { class: "text" });
      this.appendPart(this.textBlock);
      // The page separates the blocks already, so a leading blank line is dropped.
      this.blockText = content.trimStart();
    } else {
      this.blockText += content;
    }
    this.text += content;
    this.renderTimer ??= setTimeout(() => this.renderText(), RENDER_DELAY_MS);
  }

  renderText() {
    clearTimeout(this.renderTimer);
    this.renderTimer = null;
    if (!this.textBlock) return;
    this.textBlock.replaceChildren(renderMarkdown(this.blockText), ...(this.status === "running" ? [this.cursor] : []));
  }

  addToolCard(id, name, args) {
    this.renderText();
    this.textBlock = null;
    const status = createElement("span", { class: "tag" }, "running");
    const output = createElement("pre", { class: "output", hidden: true });
    const card = createElement(
      "details",
      { class: "tool", "data-tool": name },
      createElement("summary", {}, createElement("span", { class: "mono" }, name), status),
      createElement("pre", { class: "arguments" }, formatJson(args)),
      output,
    );
    this.toolCards.set(id, { status, output });
    this.appendPart(card);
  }

  showToolOutput({ tool_call_id: id, output, truncated, full_length: fullLength }) {
    const card = this.toolCards.get(id);
    if (!card) return;
    card.output.hidden = false;
    card.output.textContent = output;
    if (truncated) card.output.after(createElement("small", {}, `cut: ${fullLength.toLocaleString()} characters in all`));
  }

  showToolStatus(id, status, durationMs = null) {
    const card = this.toolCards.get(id);
    if (!card) return;
    const duration = durationMs === null ? "" : `, ${Math.round(durationMs)} ms`;
    card.status.textContent = `${status}${duration}`;
    card.status.className = `tag ${STATUS_TONES[status] ?? "bad"}`;
  }

  addStoredToolCall(call) {
    this.addToolCard(call.id, call.name, call.arguments);
    const hasResult = call.result !== null && call.result !== undefined;
    if (hasResult) this.showToolOutput({ tool_call_id: call.id, output: call.result });
    this.showToolStatus(call.id, call.is_error ? "error" : hasResult ? "success" : "cancelled");
  }

  finish(status, reason = "") {
    this.status = status;
    this.renderText();
    this.cursor.remove();
    this.element.dataset.status = status;
    const thinking = this.body.querySelector(".thinking");
    if (thinking && this.text) thinking.open = false;
    this.footer.replaceChildren();
    if (status === "cancelled") this.footer.append(createElement("span", { class: "tag warn" }, "stopped"));
    if (status === "failed") this.showFailure(reason);
    this.showAnsweringSteps(this.answeringSteps);
    this.footer.append(...this.createButtons());
  }

  // Shows why the answer failed.
  showFailure(reason) {
    this.body.querySelector(".failure")?.remove();
    const text = createElement("p", {}, reason || "The answer failed.");
    this.body.append(createElement("div", { class: "failure" }, text, ...this.createRetry(this)));
  }

  // Names the steps of the mock that answered.
  showAnsweringSteps(steps) {
    this.answeringSteps = steps;
    this.footer.querySelector(".steps")?.remove();
    if (steps.length) this.footer.prepend(createElement("span", { class: "steps", title: "The scenario and the step that answered" }, `answered by ${[...new Set(steps)].join(", ")}`));
  }

  createButtons() {
    const buttons = [];
    if (this.text) {
      const button = createElement("button", { class: "plain", type: "button" }, "Copy");
      button.addEventListener("click", () => copyText(this.text, button));
      buttons.push(button);
    }
    if (this.traceId) buttons.push(createElement("a", { class: "plain", href: `/traces/${this.traceId}/` }, "Trace"));
    return [...buttons, ...this.createActions(this)];
  }

  appendPart(element) {
    this.cursor.remove();
    this.body.append(element, this.cursor);
  }

  // Creates the view of a stored message.
  static fromMessage(message, options) {
    const view = new AnswerView(options);
    view.messageId = message.message_id;
    view.traceId = message.trace_id;
    view.feedback = message.feedback;
    const calls = new Map((message.tool_calls ?? []).map((call) => [call.id, call]));
    const parts = message.parts?.length ? message.parts : listParts(message, calls);
    for (const part of parts) {
      if (part.type === "thinking") view.addThinking(part.content);
      else if (part.type === "text") view.addText(part.content);
      else if (calls.has(part.id)) view.addStoredToolCall(calls.get(part.id));
    }
    view.text = message.content;
    view.answeringSteps = message.answered_by ?? [];
    view.finish(message.status);
    return view;
  }
}

// Lists the parts of a message without a stored order: its thinking first, its text last.
function listParts(message, calls) {
  const parts = [];
  if (message.thinking) parts.push({ type: "thinking", content: message.thinking });
  for (const id of calls.keys()) parts.push({ type: "tool_call", id });
  if (message.content) parts.push({ type: "text", content: message.content });
  return parts;
}
