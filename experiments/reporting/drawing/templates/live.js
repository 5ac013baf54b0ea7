"use strict";
// Asks what serves the page whether its folder has changed, and loads it again if so.
(() => {
  const said = document.getElementById("live");
  const EVERY_MS = 2000;
  // What is written anew is read out anew, even where it is the same.
  const say = (text) => {
    if (said.textContent !== text) said.textContent = text;
  };
  const look = async () => {
    try {
      const answer = await fetch("version");
      if (answer.ok && (await answer.text()) !== said.dataset.version) return location.reload();
      say("Live: the page follows its folder.");
    } catch {
      say("No longer followed: what served this page has ended.");
    }
    setTimeout(look, EVERY_MS);
  };
  look();
})();
