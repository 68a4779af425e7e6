// The theme's switch, one with the admin's: what was chosen is kept as the admin keeps it, and stands
// before the first paint.
const root = document.documentElement;
const KEY = "adminTheme";
const saved = (localStorage.getItem(KEY) ?? "").replaceAll('"', "");
if (saved === "dark" || saved === "light") root.dataset.theme = saved;

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  if (!button) return;
  const isDark = () =>
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem(KEY, JSON.stringify(root.dataset.theme));
  });
});
