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

// Images of the media tab are loaded only on request, without a referrer.
const pictures = document.getElementById("show-pictures");
if (pictures && document.querySelector(".card-media.image")) {
  pictures.disabled = false;
  pictures.classList.remove("waiting");
  pictures.addEventListener("click", () => {
    for (const thing of document.querySelectorAll(".card-media.image .thing")) {
      const image = new Image();
      Object.assign(image, { referrerPolicy: "no-referrer", loading: "lazy", decoding: "async" });
      image.alt = thing.querySelector(".words").textContent;
      image.onerror = () => image.remove();
      image.src = thing.href;
      thing.prepend(image);
    }
    pictures.parentElement.remove();
  });
}

// The weather at a named place, or at the location of the browser, with permission.
const weather = document.getElementById("weather");
if (weather) {
  const here = document.getElementById("here");
  const form = weather.querySelector("form");
  const buttons = weather.querySelectorAll("button");
  const show = (text) => { weather.querySelector("span").textContent = text; };
  const busy = (now) => { for (const button of buttons) button.disabled = now; };
  const failed = (text) => { busy(false); show(typeof text === "string" ? text : weather.querySelector("template").content.textContent); };
  const load = async (location) => {
    try {
      const answer = await fetch(`/api/weather?${location}&hl=${document.documentElement.lang}`);
      const body = await answer.json();
      if (!answer.ok) { failed(body.error); return; }
      busy(false);
      show(body.text);
      here.remove();
    } catch { failed(); }
  };
  weather.hidden = !form && !navigator.geolocation;
  here.hidden = !navigator.geolocation;
  here.querySelector("button").addEventListener("click", () => {
    busy(true);
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => load(`latitude=${coords.latitude.toFixed(1)}&longitude=${coords.longitude.toFixed(1)}`),
      failed, { maximumAge: 600000, timeout: 20000 });
  });
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(true);
    load(`place=${encodeURIComponent(form.elements.place.value)}`);
  });
}

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
document.getElementById("rate-in")?.addEventListener("submit", () => storage.set("rater", true));
document.getElementById("rate-out")?.addEventListener("submit", () => storage.set("rater", false));
const grading = document.getElementById("rating");
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
    result.querySelector(".badges")?.prepend(badge);
  }
  badge.textContent = `${grade}/3`;
  grading.querySelector("span").textContent = `✓ ${grade}/3`;
  move(1);
}

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
    write("live-state", now.state);
    write("live-pages", number.format(now.pages));
    write("live-rate", now.rate.toFixed(1));
    write("live-waiting", number.format(now.waiting));
    write("live-documents", number.format(now.documents));
    write("live-requests", number.format(now.requests));
    write("live-hits", now.hit_rate);
    document.getElementById("crawl-line").setAttribute("points", now.crawl_line);
    document.getElementById("request-line").setAttribute("points", now.request_line);
  };
  addEventListener("pagehide", () => source.close());
}
