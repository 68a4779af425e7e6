/* Tool calls as lines over the JSON that the form sends. What the lines cannot show exactly (other
   keys, broken JSON, numbers a script would round) stays JSON. */

import { argumentsOf, button, input } from "./call_arguments.js";

const KEYS = ["id", "name", "arguments"];
const minify = (text) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
const written = new WeakMap();

/* The calls, or null where lines would lose something. */
function read(text) {
  if (!text.trim()) return [];
  let calls;
  try {
    calls = JSON.parse(text);
  } catch {
    return null;
  }
  const plain =
    Array.isArray(calls) &&
    JSON.stringify(calls) === minify(text) &&
    calls.every(
      (call) =>
        call && typeof call.name === "string" && Object.keys(call).every((key) => KEYS.includes(key)) &&
        (call.id === undefined || (typeof call.id === "string" && call.id))
    );
  return plain ? calls : null;
}

function write(lines) {
  const calls = lines.map((line) => {
    const [name, id] = [...line.querySelectorAll("[data-key]")].map((field) => field.value.trim());
    const args = written.get(line)();
    const keys = [];
    if (id) keys.push(`"id": ${JSON.stringify(id)}`);
    keys.push(`"name": ${JSON.stringify(name)}`);
    if (args) keys.push(`"arguments": ${args}`);
    return `{${keys.join(", ")}}`;
  });
  return calls.length ? `[${calls.join(",\n ")}]` : "";
}

function field(key, label, value) {
  const holder = document.createElement("label");
  const caption = document.createElement("span");
  const made = input("input", label, value);
  caption.textContent = label;
  made.dataset.key = key;
  holder.append(caption, made);
  return holder;
}

function dress(area) {
  if (area.dataset.dressed) return;
  area.dataset.dressed = "yes";
  const calls = area.closest(".sc-wrong") ? null : read(area.value);
  if (calls === null || area.matches(":disabled")) return;
  const box = document.createElement("div");
  box.className = "sc-calls";
  const lines = () => [...box.querySelectorAll(".sc-call")];
  const sync = () => {
    area.value = write(lines());
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const line = (call) => {
    const made = document.createElement("div");
    made.className = "sc-call";
    const id = field("id", "Id", call.id ?? "");
    id.lastChild.placeholder = "generated";
    const gone = button("×", "sc-call-gone", () => { made.remove(); sync(); });
    gone.setAttribute("aria-label", "Remove this tool call");
    const args = argumentsOf(call.arguments, sync);
    written.set(made, args.written);
    made.append(field("name", "Tool", call.name), id, gone, args.element);
    return made;
  };
  const more = button("+ Add a tool call", "sc-more", () => {
    const made = line({ name: "" });
    more.before(made);
    sync();
    made.querySelector("input").focus();
  });
  box.append(...calls.map(line), more);
  box.addEventListener("input", sync);
  area.hidden = true;
  area.after(box);
}

const dressAll = (root) => root.querySelectorAll("textarea[name$='-answer_tool_calls']").forEach(dress);
document.addEventListener("formset:added", (event) => dressAll(event.target));
document.addEventListener("htmx:load", (event) => dressAll(event.target));
dressAll(document);
