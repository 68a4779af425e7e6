// Creates elements and formats values. Texts are set as text: a model's output is never markup.

export function createElement(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children);
  return element;
}

// Formats a time as all pages do: the hour of today, the date of other days.
export function formatTime(time) {
  const date = new Date(time);
  const twoDigits = (number) => String(number).padStart(2, "0");
  const formatDay = (day) => `${day.getFullYear()}-${twoDigits(day.getMonth() + 1)}-${twoDigits(day.getDate())}`;
  const isToday = formatDay(date) === formatDay(new Date());
  return isToday ? `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}` : formatDay(date);
}

export function formatJson(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
