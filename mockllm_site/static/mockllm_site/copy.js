// Buttons that put a text on the clipboard.

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = before;
    }, 1200);
  });
}
