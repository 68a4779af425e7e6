// The theme's switch: what was chosen is kept, and stands before the first paint.
const root = document.documentElement;
const saved = localStorage.getItem("mockllm-theme");
if (saved === "dark" || saved === "light") root.dataset.theme = saved;

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  if (!button) return;
  const isDark = () =>
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("mockllm-theme", root.dataset.theme);
  });
});
