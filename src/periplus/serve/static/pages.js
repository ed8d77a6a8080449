// Pages other than results: settings, commands to copy, the countdown of an overload, live values of administration.
"use strict";

// The settings page. Lines of uBlacklist are match patterns: *://*.site/* blocks, @*://*.site/* unblocks.
function readRules(text) {
  const read = {};
  let skipped = 0;
  for (const raw of text.split("\n")) {
    const line = raw.replace(/\s+#.*$/, "").trim().toLowerCase();
    if (!line || line.startsWith("#")) continue;
    const own = line.match(/^(block|raise|pin)\s+(?:https?:\/\/)?([a-z0-9.-]+)\/?$/);
    const pattern = line.match(/^(@?)(?:\*|https?):\/\/(?:\*\.)?([a-z0-9.-]+)\/\*$/);
    if (own) read[own[2]] = own[1];
    else if (pattern && pattern[1]) delete read[pattern[2]];
    else if (pattern) read[pattern[2]] = "block";
    else skipped += 1;
  }
  return [read, skipped];
}

const settings = document.getElementById("stored-settings");
if (settings) {
  const safe = document.getElementById("safe");
  safe.value = String(storage.get("safe", 0));
  safe.addEventListener("change", () => storage.set("safe", Number(safe.value)));
  const box = document.getElementById("rules");
  box.value = Object.entries(rules).map(([host, rule]) => `${rule} ${host}`).join("\n");
  document.getElementById("save-rules").addEventListener("click", () => {
    const [read, skipped] = readRules(box.value);
    storage.set("rules", read);
    box.value = Object.entries(read).map(([host, rule]) => `${rule} ${host}`).join("\n");
    const status = document.getElementById("rules-status");
    status.textContent = status.dataset.text.replace("{saved}", Object.keys(read).length).replace("{skipped}", skipped);
  });
}

for (const button of document.querySelectorAll(".command .copy")) {
  const code = button.parentElement.querySelector("code");
  if (!navigator.clipboard || !code) { button.style.visibility = "hidden"; continue; }
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = button.dataset.copied;
  });
}

// Raters sign in and out on the settings page.
document.getElementById("rate-in")?.addEventListener("submit", () => storage.set("rater", true));
document.getElementById("rate-out")?.addEventListener("submit", () => storage.set("rater", false));

const countdown = document.getElementById("countdown");
if (countdown) {
  let left = Number(countdown.dataset.seconds);
  setInterval(() => {
    left = Math.max(0, left - 1);
    countdown.textContent = String(left);
  }, 1000);
}

// The admin page: live values.
const panels = document.getElementById("panels");
if (panels) {
  const source = new EventSource(panels.dataset.live);
  const write = (id, value) => { const element = document.getElementById(id); if (element) element.textContent = value; };
  const number = new Intl.NumberFormat(document.documentElement.lang);
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    const state = document.getElementById("live-state");
    // What can be done depends on the state, so that the page is loaded anew when it changes and nobody is writing.
    if (panels.dataset.state && panels.dataset.state !== now.state && !document.activeElement.closest("form")) location.reload();
    panels.dataset.state = now.state;
    state.textContent = JSON.parse(state.dataset.states)[now.state] ?? now.state;
    write("live-busy", number.format(now.busy));
    write("live-pages", number.format(now.pages));
    write("live-rate", now.rate.toFixed(1));
    write("live-waiting", number.format(now.waiting));
    write("live-documents", number.format(now.documents));
    write("live-requests", number.format(now.requests));
    write("live-hits", now.hit_rate);
    for (const [id, drawn] of Object.entries(now.plots)) {
      document.getElementById(id).setAttribute("points", drawn.points);
      for (const label of document.querySelectorAll(`#${id}-plot [data-part]`)) {
        if (drawn.points) label.textContent = drawn[label.dataset.part];
      }
    }
  };
  addEventListener("pagehide", () => source.close());
}
