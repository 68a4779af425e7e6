// What a model says, as it meant it to look. Markup of its own is shown as text, pictures are links:
// nothing that it says runs, and nothing is fetched because of it.

import { copy, make } from "./dom.js";
import { Marked } from "./vendor/marked.esm.js";
import DOMPurify from "./vendor/purify.esm.js";

// Longer answers stay plain: they would be laid out anew with every piece.
const LONGEST = 60_000;
const SAFE = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong".split(" "),
    ..."table tbody td th thead tr ul".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const escaped = (text) =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

const markdown = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

export function rendered(text) {
  if (text.length > LONGEST) return text;
  const found = DOMPurify.sanitize(markdown.parse(text), SAFE);
  for (const link of found.querySelectorAll("a")) {
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  }
  for (const table of found.querySelectorAll("table")) {
    const box = make("div", { class: "table", tabindex: "0" });
    table.replaceWith(box);
    box.append(table);
  }
  for (const block of found.querySelectorAll("pre")) {
    const button = make("button", { class: "plain", type: "button" }, "Copy code");
    const code = block.textContent;
    button.addEventListener("click", () => copy(code, button));
    const box = make("div", { class: "code" });
    block.replaceWith(box);
    block.setAttribute("tabindex", "0");
    box.append(block, button);
  }
  return found;
}
