// Elements in few words. Texts are set as text: what a model says is never markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// As all pages write times: the hour of today, the date of other days.
export function when(moment) {
  const date = new Date(moment);
  const two = (number) => String(number).padStart(2, "0");
  const day = (one) => `${one.getFullYear()}-${two(one.getMonth() + 1)}-${two(one.getDate())}`;
  const today = day(date) === day(new Date());
  return today ? `${two(date.getHours())}:${two(date.getMinutes())}` : day(date);
}

export function pretty(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

export async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = before;
  }, 1200);
}
