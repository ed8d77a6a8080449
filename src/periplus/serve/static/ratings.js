// Results: clicks that this server counts, and grades of raters.
"use strict";

// Report which result was opened, if this server counts clicks.
if (document.getElementById("clicks")) {
  const report = (event) => {
    const title = event.target.closest?.(".result .title");
    if (!title || event.button > 1) return;
    const all = titles();
    const first = Number(title.closest("ol").getAttribute("start") ?? 1);
    const click = { query: field.defaultValue, url: title.href, position: first + all.indexOf(title), shown: all.map((link) => link.href) };
    navigator.sendBeacon("/api/click", new Blob([JSON.stringify(click)], { type: "application/json" }));
  };
  addEventListener("click", report, true);
  addEventListener("auxclick", report, true);
}

// Raters grade the focused result with one key. The server is asked only in browsers in which a rater signed in.
if (grading?.matches("p") && document.querySelector(".results") && storage.get("rater", false)) {
  fetch("/api/rater").then(async (answer) => {
    if (!answer.ok) { storage.set("rater", false); return; }
    const { token } = await answer.json();
    grading.hidden = false;
    for (const grade of ["0", "1", "2", "3"]) keys[grade] = () => rate(Number(grade), token);
  }).catch(() => { /* offline: nothing to rate */ });
}

async function rate(grade, token) {
  const result = current();
  if (!result) return;
  const body = JSON.stringify({ query: field.defaultValue, url: result.querySelector(".title").href, grade });
  const headers = { "content-type": "application/json", "x-token": token };
  const answer = await fetch("/api/judge", { method: "POST", headers, body }).catch(() => null);
  if (!answer?.ok) { grading.querySelector("span").textContent = "✗"; return; }
  let badge = result.querySelector(".grade");
  if (!badge) {
    badge = document.createElement("span");
    badge.className = "grade";
    result.querySelector(".meta")?.append(badge);
  }
  badge.textContent = `${grade}/3`;
  grading.querySelector("span").textContent = `✓ ${grade}/3`;
  move(1);
}
