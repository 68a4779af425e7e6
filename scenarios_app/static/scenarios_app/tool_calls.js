/* Edits tool calls as lines in place of the JSON field that the form sends. Calls that lines cannot
   show exactly (other keys, invalid JSON, numbers that JavaScript would round) stay JSON. */

import { createArgumentsEditor, createButton, createField, isExact } from "./call_arguments.js";

const KEYS = ["id", "name", "arguments"];
// The function that returns the JSON text of a line's arguments.
const argumentGetters = new WeakMap();

/* Returns the calls, or null if lines would lose a part of them. */
function parseCalls(text) {
  if (!text.trim()) return [];
  let calls;
  try {
    calls = JSON.parse(text);
  } catch {
    return null;
  }
  return Array.isArray(calls) && isExact(text, calls) && calls.every(fitsLine) ? calls : null;
}

function fitsLine(call) {
  if (!call || typeof call.name !== "string") return false;
  const hasValidId = call.id === undefined || (typeof call.id === "string" && call.id);
  return hasValidId && Object.keys(call).every((key) => KEYS.includes(key));
}

function formatCalls(lines) {
  const calls = lines.map((line) => {
    const [name, id] = [...line.querySelectorAll("[data-key]")].map((field) => field.value.trim());
    const argumentsText = argumentGetters.get(line)();
    const pairs = [];
    if (id) pairs.push(`"id": ${JSON.stringify(id)}`);
    pairs.push(`"name": ${JSON.stringify(name)}`);
    if (argumentsText) pairs.push(`"arguments": ${argumentsText}`);
    return `{${pairs.join(", ")}}`;
  });
  return calls.length ? `[${calls.join(",\n ")}]` : "";
}

function createLabelledField(key, label, value) {
  const holder = document.createElement("label");
  const caption = document.createElement("span");
  const field = createField("input", label, value);
  caption.textContent = label;
  field.dataset.key = key;
  holder.append(caption, field);
  return holder;
}

function replaceWithLines(area) {
  if (area.dataset.dressed) return;
  area.dataset.dressed = "yes";
  const calls = area.closest(".sc-wrong") ? null : parseCalls(area.value);
  if (calls === null || area.matches(":disabled")) return;
  const box = document.createElement("div");
  box.className = "sc-calls";
  const updateArea = () => {
    area.value = formatCalls([...box.querySelectorAll(".sc-call")]);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const createLine = (call) => {
    const line = document.createElement("div");
    line.className = "sc-call";
    const id = createLabelledField("id", "Id", call.id ?? "");
    id.lastChild.placeholder = "generated";
    const removeButton = createButton("×", "sc-call-gone", () => { line.remove(); updateArea(); });
    removeButton.setAttribute("aria-label", "Remove this tool call");
    const argumentsEditor = createArgumentsEditor(call.arguments, updateArea);
    argumentGetters.set(line, argumentsEditor.getText);
    line.append(createLabelledField("name", "Tool", call.name), id, removeButton, argumentsEditor.element);
    return line;
  };
  const addButton = createButton("+ Add a tool call", "sc-more", () => {
    const line = createLine({ name: "" });
    addButton.before(line);
    updateArea();
    line.querySelector("input").focus();
  });
  box.append(...calls.map(createLine), addButton);
  box.addEventListener("input", updateArea);
  area.hidden = true;
  area.after(box);
}

const replaceAllWithLines = (root) => root.querySelectorAll("textarea[name$='-answer_tool_calls']").forEach(replaceWithLines);
document.addEventListener("formset:added", (event) => replaceAllWithLines(event.target));
document.addEventListener("htmx:load", (event) => replaceAllWithLines(event.target));
replaceAllWithLines(document);
