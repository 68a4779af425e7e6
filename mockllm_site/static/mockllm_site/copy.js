// Buttons that copy a text to the clipboard.

const CONFIRM_MS = 1200;

export async function copyText(text, button) {
  await navigator.clipboard.writeText(text);
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => {
    button.textContent = label;
  }, CONFIRM_MS);
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", () => copyText(button.dataset.copy, button));
}
