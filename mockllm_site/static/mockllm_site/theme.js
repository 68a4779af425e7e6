// The switch between light and dark. The admin uses the same key and format, so both share the choice.
// The script runs before the first paint, so the page does not flash.
const root = document.documentElement;
const STORAGE_KEY = "adminTheme";
const savedTheme = (localStorage.getItem(STORAGE_KEY) ?? "").replaceAll('"', "");
if (savedTheme === "dark" || savedTheme === "light") root.dataset.theme = savedTheme;

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  if (!button) return;
  const isDark = () =>
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem(STORAGE_KEY, JSON.stringify(root.dataset.theme));
  });
});
