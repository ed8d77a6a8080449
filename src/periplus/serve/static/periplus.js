// Keys, the clear and copy buttons, the countdown, and "why this?" without leaving the page.
// Every page works without this file.
"use strict";

const field = document.getElementById("q");
const titles = () => [...document.querySelectorAll(".result .title")];
const current = () => document.activeElement.closest?.(".result") ?? null;

function move(step) {
  const all = titles();
  if (!all.length) return;
  const at = all.findIndex((title) => title.closest(".result") === current());
  const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step));
  all[next].focus({ preventScroll: true });
  all[next].closest(".result").scrollIntoView({ block: "nearest" });
}

function press(selector) {
  const result = current() ?? document.querySelector(".result");
  result?.querySelector(selector)?.click();
}

const keys = {
  "/": () => { field?.focus(); field?.select(); },
  j: () => move(1),
  k: () => move(-1),
  o: () => press(".title"),
  c: () => press(".cached"),
  w: () => press("details.why > summary, a.why"),
  "?": () => document.getElementById("keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.matches("input, textarea, select, dialog *")) {
    if (event.key === "Escape" && event.target === field) field.blur();
    return;
  }
  if (Object.hasOwn(keys, event.key)) {
    event.preventDefault();
    keys[event.key]();
  }
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a.why, a.keys");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (link.matches(".keys")) document.getElementById("keys").showModal();
  else explain(link);
});

// Ask for the same page with explanations, and put them in place of the links. If that fails, follow the link.
async function explain(link) {
  const chosen = link.closest(".result").id;
  try {
    const answer = await fetch(link.href, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const result of document.querySelectorAll(".result")) {
      const twin = page.getElementById(result.id);
      const same = twin?.querySelector(".title").href === result.querySelector(".title").href;
      const why = same && twin.querySelector("details.why");
      if (why) result.querySelector("a.why").replaceWith(why);
    }
    document.querySelector(`#${chosen} details.why > summary`).focus();
  } catch {
    location.assign(link.href);
  }
}

const clear = document.querySelector(".field .clear");
if (field && clear) {
  document.documentElement.classList.add("scripted");
  const show = () => { clear.hidden = !field.value; };
  field.addEventListener("input", show);
  clear.addEventListener("click", () => { field.value = ""; show(); field.focus(); });
  addEventListener("pageshow", show);
  show();
}

for (const button of document.querySelectorAll(".copy")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
  });
}

const countdown = document.getElementById("countdown");
if (countdown) {
  let left = Number(countdown.dataset.seconds);
  setInterval(() => {
    left = Math.max(0, left - 1);
    countdown.textContent = left === 1 ? "1 second" : `${left} seconds`;
  }, 1000);
}
