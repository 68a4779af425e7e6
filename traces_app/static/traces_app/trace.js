// The page of one trace: looks again while the run goes on, and makes a scenario of it.

const trace = document.getElementById("trace");
const banner = document.getElementById("error-banner");
const LOOK_AGAIN_MS = 1500;

if (trace.dataset.running === "true") setTimeout(() => location.reload(), LOOK_AGAIN_MS);

function complain(message) {
  document.getElementById("error-text").textContent = message;
  banner.hidden = false;
}

async function make() {
  banner.hidden = true;
  const response = await fetch(`/api/trace/${trace.dataset.id}/scenario`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "X-CSRFToken": document.querySelector("[name=csrfmiddlewaretoken]").value,
    },
    body: "{}",
  });
  const answer = await response.json();
  if (!response.ok) {
    complain(answer.message);
    return;
  }
  const text = JSON.stringify(answer, null, 2);
  document.getElementById("document").textContent = text;
  const download = document.getElementById("download");
  download.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  download.download = `${answer.name}.json`;
  document.getElementById("scenario").hidden = false;
  document.getElementById("scenario").scrollIntoView({ behavior: "smooth" });
}

document.getElementById("make").addEventListener("click", () =>
  make().catch(() => complain("The server cannot be reached.")),
);
document.getElementById("copy").addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(document.getElementById("document").textContent);
  target.textContent = "Copied";
});
