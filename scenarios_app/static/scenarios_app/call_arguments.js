/* The arguments of a tool call as lines of name, value and kind. What is no object is edited as
   JSON, and an object can be. */

const TEXT = "text";
const OTHER = "other";
const KINDS = [[TEXT, "text"], [OTHER, "number, true, list …"]];

export function button(text, className, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.textContent = text;
  made.addEventListener("click", act);
  return made;
}

export function input(tag, label, value) {
  const made = document.createElement(tag);
  made.className = tag === "textarea" ? "sc-input sc-area sc-code" : "sc-input";
  if (tag === "textarea") made.rows = 1;
  made.setAttribute("aria-label", label);
  made.spellcheck = false;
  made.value = value;
  return made;
}

/* On one line where that is short. */
function shown(value) {
  const tall = JSON.stringify(value, null, 2);
  const flat = tall.replace(/\n\s*/g, " ");
  return flat.length > 60 ? tall : flat;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function check(field, wanted) {
  const wrong = wanted && Boolean(field.value.trim()) && parsed(field.value) === undefined;
  field.classList.toggle("sc-not-json", wrong);
  field.title = wrong ? "This is not JSON yet" : "";
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
// Whether nothing is lost when a script reads a text and writes it again.
const isExact = (text, value) => JSON.stringify(value) === text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, "$1");

/* `given` is what the call has, undefined for none; `changed` is told of what changes by a click.
   Gives the element, and a function for the JSON that it stands for: "" for none. */
export function argumentsOf(given, changed) {
  const element = document.createElement("div");
  element.className = "sc-arguments";
  const lines = () => [...element.querySelectorAll(".sc-argument")];
  let empty = given === undefined ? "" : "{}";

  function line(name, value) {
    const kind = document.createElement("select");
    kind.className = "sc-input sc-select";
    kind.setAttribute("aria-label", "Kind of value");
    kind.append(...KINDS.map(([key, label]) => new Option(label, key)));
    kind.value = typeof value === "string" ? TEXT : OTHER;
    const text = input("textarea", "Argument value", kind.value === TEXT ? value : shown(value));
    const key = input("input", "Argument name", name);
    const warning = document.createElement("p");
    warning.className = "sc-help sc-doubt";
    warning.setAttribute("role", "status");
    const look = () => {
      check(text, kind.value === OTHER);
      const has = [key, text].map((field) => Boolean(field.value.trim()));
      warning.textContent = has[0] === has[1] ? "" : has[0] ? "This argument has no value." : "This value has no name.";
    };
    const made = document.createElement("div");
    made.className = "sc-argument";
    // A line that is being typed is not incomplete yet.
    made.addEventListener("focusout", ({ relatedTarget }) => { if (!made.contains(relatedTarget)) look(); });
    made.addEventListener("input", () => { if (warning.textContent) look(); else check(text, kind.value === OTHER); });
    if (name) look();
    const gone = button("×", "sc-call-gone", () => { made.remove(); changed(); });
    gone.setAttribute("aria-label", "Remove this argument");
    made.append(key, text, kind, gone, warning);
    return made;
  }

  function written() {
    const area = element.querySelector(":scope > textarea");
    if (area) return area.value.trim();
    const pairs = lines().map((one) => {
      const [name, value, kind] = one.querySelectorAll("input, select, textarea");
      if (!name.value.trim() && !value.value.trim()) return null;
      const json = kind.value === TEXT ? JSON.stringify(value.value) : value.value.trim();
      return `${JSON.stringify(name.value.trim())}: ${json}`;
    }).filter((pair) => pair !== null);
    return pairs.length ? `{${pairs.join(", ")}}` : empty;
  }

  function asLines(value) {
    const more = button("+ Add an argument", "sc-more", () => {
      const made = line("", "");
      element.querySelector(".sc-arguments-end").before(made);
      changed();
      made.querySelector("input").focus();
    });
    const other = button("Edit as JSON", "sc-more sc-quiet", () => asText(written()));
    const end = document.createElement("div");
    end.className = "sc-arguments-end";
    end.append(more, other);
    element.replaceChildren(...Object.entries(value).map(([name, one]) => line(name, one)), end);
  }

  function asText(text) {
    const area = input("textarea", "Arguments (JSON)", text);
    area.placeholder = '{"city": "Paris"}';
    const other = button("Edit as lines", "sc-more sc-quiet", () => {
      const value = area.value.trim() ? parsed(area.value) : {};
      if (area.value.trim()) empty = "{}";
      if (isObject(value) && isExact(area.value.trim() || "{}", value)) asLines(value);
      else other.textContent = "Edit as lines: only possible for an object without very large numbers";
    });
    area.addEventListener("input", () => check(area, true));
    element.replaceChildren(area, other);
    area.focus();
  }

  if (given === undefined || isObject(given)) asLines(given ?? {});
  else asText(shown(given));
  return { element, written };
}
