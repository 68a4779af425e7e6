// The choice of profiles, and what the chosen ones contain.

import { createElement } from "./dom.js";
import { byId, page } from "./page.js";

const PROFILES = JSON.parse(byId("profiles").textContent);

// True if the next message goes to two profiles.
export const isComparisonOn = () => page.compare?.getAttribute("aria-pressed") === "true";

function toggleComparison() {
  const isOn = !isComparisonOn();
  page.compare.setAttribute("aria-pressed", String(isOn));
  byId("second").hidden = !isOn;
  updateProfiles();
}

function updateProfiles() {
  if (isComparisonOn()) chooseOtherProfileB();
  const names = isComparisonOn() ? [page.profile.value, page.profileB.value] : [page.profile.value];
  const profiles = names.map((name) => PROFILES.find((profile) => profile.name === name)).filter(Boolean);
  const hasPrompt = profiles.some((profile) => profile.system_prompt);
  const hasTools = profiles.some((profile) => profile.tools.length);
  byId("about-short").textContent = `${hasPrompt ? "System prompt" : "No system prompt"} · ${hasTools ? "tools on" : "no tools"}`;
  byId("about-long").replaceChildren(...profiles.map(createProfileDetails));
}

// The second profile is always another one than the first.
function chooseOtherProfileB() {
  const options = [...page.profileB.options];
  for (const option of options) option.disabled = option.value === page.profile.value;
  if (page.profileB.value !== page.profile.value) return;
  const firstEnabled = options.find((option) => !option.disabled);
  if (firstEnabled) page.profileB.value = firstEnabled.value;
}

function createProfileDetails(profile) {
  return createElement("div", {},
    createElement("b", {}, `${profile.name}: ${profile.provider_id}, ${profile.model_id}`),
    createElement("pre", { class: "prompt", tabindex: "0" }, profile.system_prompt || "No system prompt."),
    createElement("p", { class: "faint" }, profile.tools.length ? `Tools of ${profile.tools.join(", ")}` : "No tools."),
  );
}

page.profile.addEventListener("change", updateProfiles);
page.profileB?.addEventListener("change", updateProfiles);
page.compare?.addEventListener("click", toggleComparison);
updateProfiles();
