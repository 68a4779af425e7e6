/* Tool calls as lines of name, arguments and id over the JSON that the form sends. What the lines
   cannot show exactly (other keys, broken JSON, numbers a script would round) stays JSON. */
"use strict";

(() => {
  const KEYS = ["id", "name", "arguments"];
  const minify = (text) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");

  /* On one line where that is short. */
  function shown(value) {
    const tall = JSON.stringify(value, null, 2);
    const flat = tall.replace(/\n\s*/g, " ");
    return flat.length > 60 ? tall : flat;
  }

  /* [{id, name, arguments as JSON text}], or null where lines would lose something. */
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
    if (!plain) return null;
    return calls.map((call) => ({
      id: call.id ?? "",
      name: call.name,
      arguments: call.arguments === undefined ? "" : shown(call.arguments),
    }));
  }

  function write(lines) {
    const calls = lines.map((line) => {
      const [name, args, id] = [...line.querySelectorAll("[data-key]")].map((field) => field.value);
      const keys = [];
      if (id.trim()) keys.push(`"id": ${JSON.stringify(id.trim())}`);
      keys.push(`"name": ${JSON.stringify(name.trim())}`);
      if (args.trim()) keys.push(`"arguments": ${args.trim()}`);
      return `{${keys.join(", ")}}`;
    });
    return calls.length ? `[${calls.join(",\n ")}]` : "";
  }

  function field(key, label, value, tag = "input") {
    const holder = document.createElement("label");
    const input = document.createElement(tag);
    const caption = document.createElement("span");
    caption.textContent = label;
    input.className = tag === "input" ? "sc-input" : "sc-input sc-area sc-code";
    if (tag === "textarea") input.rows = 1;
    input.dataset.key = key;
    input.value = value;
    input.spellcheck = false;
    holder.append(caption, input);
    return holder;
  }

  function button(text, className, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.className = className;
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
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
    const check = (input) => {
      let wrong = false;
      try {
        if (input.value.trim()) JSON.parse(input.value);
      } catch {
        wrong = true;
      }
      input.classList.toggle("sc-not-json", wrong);
      input.title = wrong ? "This is not JSON yet" : "";
    };
    const line = (call) => {
      const made = document.createElement("div");
      made.className = "sc-call";
      const args = field("arguments", "Arguments (JSON)", call.arguments, "textarea");
      args.lastChild.placeholder = '{"city": "Paris"}';
      args.lastChild.addEventListener("input", (event) => check(event.target));
      const id = field("id", "Id", call.id);
      id.lastChild.placeholder = "made up";
      made.append(field("name", "Tool", call.name), args, id);
      const gone = button("×", "sc-call-gone", () => { made.remove(); sync(); });
      gone.setAttribute("aria-label", "Remove this tool call");
      made.append(gone);
      return made;
    };
    const more = button("+ Add a tool call", "sc-more", () => {
      const made = line({ id: "", name: "", arguments: "" });
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
  document.addEventListener("steps:filled", (event) => dressAll(event.target));
  dressAll(document);
})();
