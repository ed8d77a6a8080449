// Results as you type, from the JSON API of the Periplus server that the form names.
(() => {
  "use strict";
  const WAIT_MS = 120, COUNT = 6;
  const form = document.querySelector(".site-search");
  if (!form) return;
  const field = form.elements.q, list = form.querySelector(".site-results");
  let timer = 0, asked = null, shown = "", selected = -1;

  const element = (tag, text, properties = {}) => Object.assign(document.createElement(tag), { textContent: text }, properties);
  const links = () => [...list.querySelectorAll("a")];

  function open(yes) {
    list.hidden = !yes;
    field.setAttribute("aria-expanded", String(yes));
    if (!yes) select(-1);
  }

  function select(number) {
    selected = number;
    links().forEach((link, at) => link.setAttribute("aria-selected", String(at === number)));
    const link = links()[number];
    if (link) { field.setAttribute("aria-activedescendant", link.id); link.scrollIntoView({ block: "nearest" }); }
    else field.removeAttribute("aria-activedescendant");
  }

  function hit(result, at) {
    const link = element("a", "", { href: result.url, id: `site-result-${at}`, role: "option" });
    link.append(element("strong", result.title.replace(/ - Periplus$/, "")));
    for (const piece of result.snippet) link.append(element(piece.marked ? "mark" : "span", piece.text));
    return link;
  }

  function show(answer, address) {
    const rows = answer.results.map(hit);
    if (rows.length) rows.push(element("a", `All results for “${answer.query}”`, { href: address, id: "site-result-all", role: "option" }));
    list.replaceChildren(...(rows.length ? rows : [element("p", "No page has these words.")]));
    open(true);
    select(-1);
  }

  async function ask() {
    const words = field.value.trim();
    if (words === shown) { open(Boolean(words)); return; }
    shown = words;
    asked?.abort();
    if (!words) { open(false); return; }
    asked = new AbortController();
    const address = `${form.action}?${new URLSearchParams({ q: words })}`;
    try {
      const response = await fetch(`${address}&format=json&count=${COUNT}`, { signal: asked.signal });
      if (!response.ok) throw new Error(String(response.status));
      show(await response.json(), address);
    } catch (error) {
      if (error.name === "AbortError") return;
      shown = "";
      list.replaceChildren(element("p", "The search server does not answer. `make site-serve` starts one with the site."));
      open(true);
    }
  }

  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT_MS); });
  field.addEventListener("focus", () => { if (field.value.trim() && list.childElementCount) open(true); });
  field.addEventListener("keydown", event => {
    const count = links().length;
    if (event.key === "Escape") { open(false); return; }
    if (list.hidden || !count) return;
    if (event.key === "ArrowDown") select((selected + 1) % count);
    else if (event.key === "ArrowUp") select(selected <= 0 ? count - 1 : selected - 1);
    else if (event.key === "Enter" && selected >= 0) links()[selected].click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", event => { if (!form.contains(event.target)) open(false); });
  document.addEventListener("keydown", event => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { field.focus(); event.preventDefault(); }
  });
})();
