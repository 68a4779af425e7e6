/* Edits tool calls as lines in place of the JSON field that the form sends. Calls that lines cannot
   show exactly (other keys, invalid JSON, numbers that JavaScript would round) stay JSON. */

import { createArgumentsEditor, createButton, createField, isExact } from "./call_arguments.js";

const KEYS = ["id", "name", "arguments", "input", "namespace"];
const CONTENTS = [["arguments", "arguments (a function)"], ["input", "input (a custom tool)"]];
// The function that returns a line's arguments or input as the text of a key and its value, "" for none.
const contentGetters = new WeakMap();

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
  const isTextOrMissing = (key, mayBeEmpty) => call[key] === undefined || (typeof call[key] === "string" && (mayBeEmpty || call[key]));
  const hasTexts = isTextOrMissing("id") && isTextOrMissing("namespace") && isTextOrMissing("input", true);
  const hasOneContent = call.input === undefined || call.arguments === undefined;
  return hasTexts && hasOneContent && Object.keys(call).every((key) => KEYS.includes(key));
}

function formatCalls(lines) {
  const calls = lines.map((line) => {
    const fields = [...line.querySelectorAll("[data-key]")];
    const { name, id, namespace } = Object.fromEntries(fields.map((field) => [field.dataset.key, field.value.trim()]));
    const content = contentGetters.get(line)();
    const pairs = [];
    if (id) pairs.push(`"id": ${JSON.stringify(id)}`);
    pairs.push(`"name": ${JSON.stringify(name)}`);
    if (content) pairs.push(content);
    if (namespace) pairs.push(`"namespace": ${JSON.stringify(namespace)}`);
    return `{${pairs.join(", ")}}`;
  });
  return calls.length ? `[${calls.join(",\n ")}]` : "";
}

function createLabelled(label, field) {
  const holder = document.createElement("label");
  const caption = document.createElement("span");
  caption.textContent = label;
  holder.append(caption, field);
  return holder;
}

function createLabelledField(key, label, value) {
  const field = createField("input", label, value);
  field.dataset.key = key;
  return createLabelled(label, field);
}

function createContentSelect(value) {
  const select = document.createElement("select");
  select.className = "sc-input sc-select";
  select.setAttribute("aria-label", "What the tool takes");
  select.append(...CONTENTS.map(([key, label]) => new Option(label, key)));
  select.value = value;
  return select;
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
    const content = document.createElement("div");
    content.className = "sc-arguments";
    const showArguments = (value) => {
      const editor = createArgumentsEditor(value, updateArea);
      contentGetters.set(line, () => (editor.getText() ? `"arguments": ${editor.getText()}` : ""));
      content.replaceChildren(editor.element);
    };
    const showInput = (text) => {
      const field = createField("textarea", "Input", text);
      field.rows = 3;
      contentGetters.set(line, () => `"input": ${JSON.stringify(field.value)}`);
      content.replaceChildren(field);
    };
    const showOptions = () => {
      const select = createContentSelect(call.input === undefined ? "arguments" : "input");
      const namespace = createLabelledField("namespace", "Namespace", call.namespace ?? "");
      namespace.lastChild.placeholder = "as the request offers it";
      select.addEventListener("change", () => { if (select.value === "input") showInput(""); else showArguments(undefined); });
      content.before(createLabelled("Takes", select), namespace);
    };
    line.append(createLabelledField("name", "Tool", call.name), id, removeButton, content);
    if (call.input === undefined) showArguments(call.arguments);
    else showInput(call.input);
    if (call.input !== undefined || call.namespace !== undefined) showOptions();
    else line.append(createButton("Custom tool or namespace", "sc-more sc-quiet", ({ target }) => { target.remove(); showOptions(); }));
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

const replaceAllWithLines = (root) => root.querySelectorAll("textarea[name$='-produce.tool_calls']").forEach(replaceWithLines);
document.addEventListener("formset:added", (event) => replaceAllWithLines(event.target));
document.addEventListener("htmx:load", (event) => replaceAllWithLines(event.target));
replaceAllWithLines(document);
