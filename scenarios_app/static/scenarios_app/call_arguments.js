/* Edits the arguments of a tool call as lines of name, value and kind, or as JSON. Arguments that
   are no object are always JSON. */

const TEXT = "text";
const OTHER = "other";
const VALUE_KINDS = [[TEXT, "text"], [OTHER, "number, true, list …"]];
const MAX_LINE_CHARS = 60;

export function createButton(text, className, onClick) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = className;
  button.textContent = text;
  button.addEventListener("click", onClick);
  return button;
}

export function createField(tag, label, value) {
  const field = document.createElement(tag);
  field.className = tag === "textarea" ? "sc-input sc-area sc-code" : "sc-input";
  if (tag === "textarea") field.rows = 1;
  field.setAttribute("aria-label", label);
  field.spellcheck = false;
  field.value = value;
  return field;
}

/* Formats short JSON on one line and longer JSON with indents. */
function formatJson(value) {
  const indented = JSON.stringify(value, null, 2);
  const oneLine = indented.replace(/\n\s*/g, " ");
  return oneLine.length > MAX_LINE_CHARS ? indented : oneLine;
}

/* Returns undefined for text that is not JSON. */
function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function markInvalidJson(field, mustBeJson) {
  const isInvalid = mustBeJson && Boolean(field.value.trim()) && parseJson(field.value) === undefined;
  field.classList.toggle("sc-not-json", isInvalid);
  field.title = isInvalid ? "This is not JSON yet" : "";
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/* Removes the white space outside of strings. */
const minifyJson = (text) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");
/* True if the value gives the same text again: large numbers do not. */
export const isExact = (text, value) => JSON.stringify(value) === minifyJson(text);

/* Returns an editor of arguments: its element, and a function that returns their JSON text, "" for
   none. `value` is undefined for a call without arguments. `onChange` is called when a click
   changes them. */
export function createArgumentsEditor(value, onChange) {
  const element = document.createElement("div");
  element.className = "sc-arguments";
  let textWithoutLines = value === undefined ? "" : "{}";

  function createLine(name, lineValue) {
    const kind = document.createElement("select");
    kind.className = "sc-input sc-select";
    kind.setAttribute("aria-label", "Kind of value");
    kind.append(...VALUE_KINDS.map(([key, label]) => new Option(label, key)));
    kind.value = typeof lineValue === "string" ? TEXT : OTHER;
    const valueField = createField("textarea", "Argument value", kind.value === TEXT ? lineValue : formatJson(lineValue));
    const nameField = createField("input", "Argument name", name);
    const warning = document.createElement("p");
    warning.className = "sc-help sc-doubt";
    warning.setAttribute("role", "status");
    const markValue = () => markInvalidJson(valueField, kind.value === OTHER);
    const checkLine = () => {
      markValue();
      const [hasName, hasValue] = [nameField, valueField].map((field) => Boolean(field.value.trim()));
      warning.textContent = hasName === hasValue ? "" : hasName ? "This argument has no value." : "This value has no name.";
    };
    const line = document.createElement("div");
    line.className = "sc-argument";
    // A user who is still in the line may be about to fill in the rest.
    line.addEventListener("focusout", ({ relatedTarget }) => { if (!line.contains(relatedTarget)) checkLine(); });
    line.addEventListener("input", () => { if (warning.textContent) checkLine(); else markValue(); });
    if (name) checkLine();
    const removeButton = createButton("×", "sc-call-gone", () => { line.remove(); onChange(); });
    removeButton.setAttribute("aria-label", "Remove this argument");
    line.append(nameField, valueField, kind, removeButton, warning);
    return line;
  }

  function getText() {
    const area = element.querySelector(":scope > textarea");
    if (area) return area.value.trim();
    const pairs = [...element.querySelectorAll(".sc-argument")].map((line) => {
      const [name, valueField, kind] = line.querySelectorAll("input, select, textarea");
      if (!name.value.trim() && !valueField.value.trim()) return null;
      const json = kind.value === TEXT ? JSON.stringify(valueField.value) : valueField.value.trim();
      return `${JSON.stringify(name.value.trim())}: ${json}`;
    }).filter((pair) => pair !== null);
    return pairs.length ? `{${pairs.join(", ")}}` : textWithoutLines;
  }

  function showLines(object) {
    const addButton = createButton("+ Add an argument", "sc-more", () => {
      const line = createLine("", "");
      element.querySelector(".sc-arguments-end").before(line);
      onChange();
      line.querySelector("input").focus();
    });
    const jsonButton = createButton("Edit as JSON", "sc-more sc-quiet", () => showJson(getText()));
    const end = document.createElement("div");
    end.className = "sc-arguments-end";
    end.append(addButton, jsonButton);
    element.replaceChildren(...Object.entries(object).map(([name, lineValue]) => createLine(name, lineValue)), end);
  }

  function showJson(text) {
    const area = createField("textarea", "Arguments (JSON)", text);
    area.placeholder = '{"city": "Paris"}';
    const linesButton = createButton("Edit as lines", "sc-more sc-quiet", () => {
      const object = area.value.trim() ? parseJson(area.value) : {};
      if (area.value.trim()) textWithoutLines = "{}";
      if (isObject(object) && isExact(area.value.trim() || "{}", object)) showLines(object);
      else linesButton.textContent = "Edit as lines: only possible for an object without very large numbers";
    });
    area.addEventListener("input", () => markInvalidJson(area, true));
    element.replaceChildren(area, linesButton);
    area.focus();
  }

  if (value === undefined || isObject(value)) showLines(value ?? {});
  else showJson(formatJson(value));
  return { element, getText };
}
