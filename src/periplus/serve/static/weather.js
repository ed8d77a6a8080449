"use strict";

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

