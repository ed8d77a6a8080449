// Keyboard shortcuts, completions, voice input, clear and copy buttons, site rules, and explanations in place.
// Every page works without this file.
"use strict";

document.documentElement.classList.add("scripted");
const field = document.getElementById("q");
const titles = () => [...document.querySelectorAll(".result:not([hidden]) .title")];
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
  const result = current() ?? document.querySelector(".result:not([hidden])");
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
    if (event.key === "Escape" && event.target === field && !completions.length) field.blur();
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

// Fetch the same page with explanations and replace the links by them. If that fails, follow the link.
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

// Settings in this browser's storage. Without storage, everything has its default.
const storage = {
  get(name, fallback) {
    try { return JSON.parse(localStorage.getItem(`periplus.${name}`)) ?? fallback; } catch { return fallback; }
  },
  set(name, value) {
    try { localStorage.setItem(`periplus.${name}`, JSON.stringify(value)); } catch { /* no storage */ }
  },
};

const clear = document.querySelector(".field .clear");
if (field && clear) {
  const show = () => { clear.hidden = !field.value; };
  field.addEventListener("input", show);
  clear.addEventListener("click", () => { field.value = ""; show(); field.focus(); });
  addEventListener("pageshow", show);
  show();
  const safe = storage.get("safe", 0);
  if (safe && !field.form.elements.safesearch) field.form.append(hidden("safesearch", safe));
}

function hidden(name, value) {
  const input = document.createElement("input");
  Object.assign(input, { type: "hidden", name, value });
  return input;
}

for (const select of document.querySelectorAll(".filters select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// Completions: a listbox owned by the search field; the arrow keys select, Escape closes.
let completions = [];
let chosen = -1;
let pending = null;
const list = document.createElement("ul");
list.className = "completions";
list.id = "completions";
list.setAttribute("role", "listbox");
list.hidden = true;
if (field) {
  field.form.append(list);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-controls", "completions");
  field.setAttribute("aria-expanded", "false");
  field.setAttribute("aria-autocomplete", "list");
  list.setAttribute("aria-label", field.labels[0]?.textContent ?? "");
  let timer = 0;
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(complete, 60); });
  field.addEventListener("blur", () => setTimeout(() => offer([]), 150));
  field.addEventListener("keydown", choose);
}

async function complete() {
  const typed = field.value.trim();
  pending?.abort();
  if (typed.length < 2) { offer([]); return; }
  pending = new AbortController();
  try {
    const response = await fetch(`/suggest?q=${encodeURIComponent(typed)}`, { signal: pending.signal });
    const texts = response.ok ? (await response.json())[1] : [];
    if (field.value.trim() === typed && document.activeElement === field) offer(texts);
  } catch { /* superseded by the next request, or offline: no completions */ }
}

function offer(texts) {
  completions = texts;
  chosen = -1;
  list.replaceChildren(...texts.map((text, n) => {
    const item = document.createElement("li");
    item.id = `completion-${n}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.textContent = text;
    item.addEventListener("mousedown", (event) => { event.preventDefault(); take(text); });
    return item;
  }));
  list.hidden = !texts.length;
  field.setAttribute("aria-expanded", String(!!texts.length));
  field.removeAttribute("aria-activedescendant");
}

function take(text) {
  field.value = text;
  offer([]);
  field.form.requestSubmit();
}

function choose(event) {
  if (!completions.length || event.isComposing) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    const step = event.key === "ArrowDown" ? 1 : -1;
    chosen = (chosen + step + completions.length + 1) % (completions.length + 1);
    if (chosen === completions.length) chosen = step > 0 ? 0 : completions.length - 1;
    [...list.children].forEach((item, n) => item.setAttribute("aria-selected", String(n === chosen)));
    field.setAttribute("aria-activedescendant", `completion-${chosen}`);
  } else if (event.key === "Enter" && chosen >= 0) {
    event.preventDefault();
    take(completions[chosen]);
  } else if (event.key === "Escape") {
    offer([]);
    event.stopPropagation();
  }
}

// Voice input, if the browser supports it.
const Listener = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const voice = document.querySelector(".field .voice");
if (Listener && voice) {
  voice.hidden = false;
  voice.form.classList.add("speaks");
  voice.addEventListener("click", () => {
    const listener = new Listener();
    listener.lang = document.documentElement.lang;
    voice.classList.add("listening");
    listener.onresult = (event) => { field.value = event.results[0][0].transcript; field.form.requestSubmit(); };
    listener.onend = listener.onerror = () => voice.classList.remove("listening");
    listener.start();
  });
}

// Site rules: block, raise or pin.
const rules = storage.get("rules", {});

function ruleFor(host) {
  for (let name = host; name; name = name.includes(".") ? name.slice(name.indexOf(".") + 1) : "") {
    if (Object.hasOwn(rules, name)) return rules[name];
  }
  return "";
}

function applyRules() {
  const results = document.querySelector(".results");
  if (!results) return;
  const all = [...results.children];
  const order = { pin: 0, raise: 1 };
  const rule = new Map(all.map((item) => [item, ruleFor(item.dataset.host)]));
  const group = (item) => order[rule.get(item)] ?? 2;
  const sorted = [...all].sort((a, b) => group(a) - group(b) || Number(a.id.slice(1)) - Number(b.id.slice(1)));
  if (sorted.some((item, n) => item !== all[n])) results.replaceChildren(...sorted);
  let blocked = 0;
  for (const item of all) {
    item.hidden = rule.get(item) === "block";
    blocked += item.hidden;
  }
  const note = document.getElementById("ruled");
  note.hidden = !blocked;
  note.querySelector("a").textContent = String(blocked);
}

const ruleDialog = document.getElementById("rule");
if (ruleDialog) {
  if (Object.keys(rules).length) applyRules();
  for (const button of document.querySelectorAll(".rule")) {
    button.addEventListener("click", () => {
      const host = button.closest(".result").dataset.host;
      document.getElementById("rule-host").textContent = host;
      for (const choice of ruleDialog.querySelectorAll(".choices button")) {
        choice.setAttribute("aria-pressed", String(choice.value === ruleFor(host)));
      }
      ruleDialog.returnValue = "none";
      ruleDialog.showModal();
      ruleDialog.onclose = () => {
        if (ruleDialog.returnValue === "none") return;
        if (ruleDialog.returnValue) rules[host] = ruleDialog.returnValue;
        else delete rules[host];
        storage.set("rules", rules);
        applyRules();
      };
    });
  }
}

// What raters need is loaded only in browsers in which one has signed in.
const grading = document.getElementById("rating");
if (grading?.dataset.script && storage.get("rater", false) && !document.getElementById("clicks")) {
  document.head.append(Object.assign(document.createElement("script"), { src: grading.dataset.script }));
}
