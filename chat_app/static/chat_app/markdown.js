// Renders a model's Markdown. HTML in it is shown as text and images become links, so nothing in an
// answer runs or is fetched.

import { copyText } from "../mockllm_site/copy.js";
import { createElement } from "./dom.js";
import { Marked } from "./vendor/marked.esm.js";
import DOMPurify from "./vendor/purify.esm.js";

// Longer answers stay plain text: each new chunk would render all of it again.
const MAX_MARKDOWN_CHARS = 60_000;
const SANITIZE_OPTIONS = {
  RETURN_DOM_FRAGMENT: true,
  ALLOWED_TAGS: [
    ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong".split(" "),
    ..."table tbody td th thead tr ul".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "start", "align"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const escapeHtml = (text) =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const markdown = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    image: ({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
  },
});

// Returns a document fragment, or the text itself if it is too long.
export function renderMarkdown(text) {
  if (text.length > MAX_MARKDOWN_CHARS) return text;
  const fragment = DOMPurify.sanitize(markdown.parse(text), SANITIZE_OPTIONS);
  for (const link of fragment.querySelectorAll("a")) {
    link.rel = "noopener noreferrer nofollow";
    link.target = "_blank";
  }
  for (const table of fragment.querySelectorAll("table")) {
    const box = createElement("div", { class: "table", tabindex: "0" });
    table.replaceWith(box);
    box.append(table);
  }
  for (const block of fragment.querySelectorAll("pre")) {
    const button = createElement("button", { class: "plain", type: "button" }, "Copy code");
    const code = block.textContent;
    button.addEventListener("click", () => copyText(code, button));
    const box = createElement("div", { class: "code" });
    block.replaceWith(box);
    block.setAttribute("tabindex", "0");
    box.append(block, button);
  }
  return fragment;
}
