"""Measures the contrast of a page's texts and the visibility of the focus."""

from typing import Any

from playwright.sync_api import Page

# Contrast of a text and its background (WCAG 2.2, 1.4.3).
MIN_CONTRAST = 4.5

# A canvas converts colours of any notation to bytes. The background is what a text's ancestors
# paint over each other. Icons and disabled elements need no contrast.
CONTRASTS = """() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  function bytes(colour) {
    if (!known.has(colour)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  }
  const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const up = (one) => (one ? [one, ...up(one.parentElement)] : []);
  const style = (one) => getComputedStyle(one);
  function behind(one) {
    const layers = up(one).reverse().map((each) => bytes(style(each).backgroundColor));
    return layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
  }
  function luminance(colour) {
    const [r, g, b] = colour.map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function contrast(one, colour) {
    const below = behind(one);
    const opacity = up(one).reduce((all, each) => all * Number(style(each).opacity), 1);
    const [r, g, b, a] = bytes(colour);
    const [high, low] = [over([r, g, b, a * opacity], below), below]
      .map(luminance).sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  }
  function seen(one) {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.height > 1
      && one.checkVisibility({ visibilityProperty: true, opacityProperty: true })
      && !one.closest(":disabled, .material-symbols-outlined, .visually-hidden, .sc-hidden");
  }
  const found = [];
  function measure(one, text, colour) {
    if (text && seen(one)) {
      const where = `${one.localName}.${one.className}`;
      found.push({ text: text.slice(0, 40), where, ratio: contrast(one, colour) });
    }
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (!one.closest("script, style, template, select, textarea")) {
      measure(one, node.data.trim(), style(one).color);
    }
  }
  for (const field of document.querySelectorAll("input, select, textarea")) {
    if (["checkbox", "radio", "hidden", "file"].includes(field.type)) continue;
    const { color } = getComputedStyle(field, field.value ? null : "::placeholder");
    measure(field, field.value || field.placeholder, color);
  }
  return found;
}"""

DISABLE_ANIMATIONS = """() => {
  const sheet = new CSSStyleSheet();
  const rule = "transition: none !important; animation: none !important";
  sheet.replaceSync(`*, ::before, ::after { ${rule} }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}"""

# True if the focused element, or one around it, looks different without focus.
FOCUS = """() => {
  const active = document.activeElement;
  const around = [];
  for (let one = active; one && around.length < 4; one = one.parentElement) around.push(one);
  const parts = ["outlineStyle", "outlineWidth", "outlineColor", "boxShadow", "borderColor",
    "backgroundColor"];
  const look = () => around.map((one) => {
    const style = getComputedStyle(one);
    return parts.map((part) => style[part]).join();
  }).join();
  const focused = look();
  active.blur();
  const plain = look();
  active.focus({ preventScroll: true });
  return focused !== plain;
}"""


def disable_animations(page: Page) -> None:
    """Turn off the transitions and animations of a page."""
    page.evaluate(DISABLE_ANIMATIONS)


def measure_contrasts(page: Page) -> list[dict[str, Any]]:
    """Return every visible text with its element and contrast ratio."""
    measure_contrasts: list[dict[str, Any]] = page.evaluate(CONTRASTS)
    return measure_contrasts


def find_low_contrast_texts(page: Page) -> list[str]:
    """Return the texts below MIN_CONTRAST with their ratios."""
    return sorted(
        {
            f"{text['ratio']:.2f} {text['where']} {text['text']!r}"
            for text in measure_contrasts(page)
            if text["ratio"] < MIN_CONTRAST
        }
    )


def is_focus_visible(page: Page) -> bool:
    is_visible: bool = page.evaluate(FOCUS)
    return is_visible
