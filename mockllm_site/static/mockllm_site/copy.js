// Buttons that copy a text to the clipboard. An element with `data-copyable` gets one for its text.

const CONFIRM_MS = 1200;

export async function copyText(text, button) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = label;
  }, CONFIRM_MS);
}

for (const element of document.querySelectorAll("[data-copyable]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "plain copy";
  button.textContent = "Copy";
  // Long texts are described by the heading above them.
  if (!element.matches("pre")) button.setAttribute("aria-label", `Copy ${element.textContent}`);
  button.addEventListener("click", () => copyText(element.textContent, button));
  element.after(button);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyText(button.dataset.copy, button));
}
