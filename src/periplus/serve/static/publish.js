// The form for publishing: only the chosen part is shown, files can be dropped, and a preview follows what is typed.
"use strict";

const form = document.getElementById("publish");
const file = document.getElementById("file");
const drop = document.querySelector(".drop");
const problem = document.getElementById("file-problem");
const picture = document.getElementById("live-image");
const text = (id, value) => { document.getElementById(id).textContent = value; };

function showPart() {
  for (const part of document.querySelectorAll(".part")) part.hidden = part.dataset.kind !== form.elements.kind.value;
  document.querySelector("button[value='preview']").hidden = true;
  show();
}

function show() {
  const value = (name) => form.elements[name].value.trim();
  const chosen = form.elements.kind.value === "file" ? file.files[0] : null;
  const words = value("description") || (form.elements.kind.value === "text" ? value("text") : "");
  document.getElementById("live-preview").hidden = !(value("title") || words || chosen);
  text("live-name", value("title") || chosen?.name || "…");
  text("live-place", [form.elements.kind.value === "url" ? value("url") : location.host, value("author"), value("date")].filter(Boolean).join(" · "));
  text("live-text", words.slice(0, 300));
  const large = chosen && chosen.size > Number(file.dataset.max);
  problem.hidden = !large;
  problem.textContent = large ? problem.dataset.text : "";
  file.setCustomValidity(large ? problem.dataset.text : "");
}

function showPicture() {
  const chosen = file.files[0];
  picture.hidden = !chosen || !/^image\/(png|jpeg|gif|webp)$/.test(chosen.type);
  if (picture.src) URL.revokeObjectURL(picture.src);
  if (!picture.hidden) picture.src = URL.createObjectURL(chosen);
}

form.addEventListener("input", show);
for (const choice of form.elements.kind) choice.addEventListener("change", showPart);
file.addEventListener("change", () => { showPicture(); show(); });
for (const name of ["dragover", "dragenter"]) {
  form.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
form.addEventListener("dragleave", () => drop.classList.remove("over"));
form.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  if (!event.dataTransfer.files.length) return;
  form.elements.kind.value = "file";
  file.files = event.dataTransfer.files;
  showPart();
  showPicture();
});
showPart();
