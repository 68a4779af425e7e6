/* On every page of the admin: Ctrl+S saves, and what the theme shows by signs alone is named or
   hidden for those who hear the page. */
"use strict";

(() => {
  const MEANS = { theater_comedy: "mockllm", more_horiz: "More", more_vert: "More", search: "Search" };
  const ICONS = ".material-symbols-outlined:not([aria-hidden])";

  function name() {
    // The names of icons are no words of the page.
    for (const icon of document.querySelectorAll(ICONS)) {
      if (!icon.matches("button, a, [x-on\\:click], [tabindex]")) icon.setAttribute("aria-hidden", "true");
    }
    // A sign alone is called by what it does.
    for (const one of document.querySelectorAll("a:not([aria-label], [title]), button:not([aria-label], [title])")) {
      const icon = one.querySelector(".material-symbols-outlined");
      if (icon && one.textContent.trim() === icon.textContent.trim()) {
        one.setAttribute("aria-label", MEANS[icon.textContent.trim()] ?? icon.textContent.trim().replaceAll("_", " "));
      }
    }
    // Links that lead nowhere but do something are buttons, by keys too.
    for (const one of document.querySelectorAll("a[x-on\\:click]:not([href], [role])")) {
      one.setAttribute("role", "button");
      one.tabIndex = 0;
    }
    for (const icon of document.querySelectorAll(".help-tooltip[aria-label]:not([role])")) {
      icon.setAttribute("role", "img");
    }
    for (const box of document.querySelectorAll(".sc-scroll")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    }
    for (const nav of document.querySelectorAll("nav:not([aria-label])")) {
      nav.setAttribute("aria-label", nav.id === "nav-sidebar-inner" ? "Admin" : "More");
    }
    document.querySelectorAll(".simplebar-content-wrapper").forEach((box, index) => {
      // It scrolls by keys where it has to; it is no part of the page of its own.
      box.setAttribute("aria-label", box.closest("#nav-sidebar-inner") ? "Navigation" : `Table ${index + 1}`);
    });
  }

  addEventListener("load", () => {
    name();
    new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
    document.addEventListener("toggle", name, true);
    // The theme hides the page until its scripts run; a browser that came by earlier focused nothing.
    if (document.activeElement === document.body) document.querySelector("[autofocus]")?.focus();
  });

  addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches("a[role=button]:not([href])")) return;
    event.preventDefault();
    event.target.click();
  });

  addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    const save = document.querySelector("#submit-row [name=_save], [name=_save], .sc-at-hand [name=keep]");
    if (!save) return;
    event.preventDefault();
    save.click();
  });
})();
