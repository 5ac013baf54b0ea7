"use strict";
// Asks what serves the page whether its folder has changed, and loads it again if so.
(() => {
  const said = document.getElementById("live");
  const EVERY_MS = 2000;
  const look = async () => {
    try {
      const answer = await fetch("version");
      if (answer.ok && (await answer.text()) !== said.dataset.version) return location.reload();
      said.textContent = "Live: the page follows its folder.";
    } catch {
      said.textContent = "No longer followed: what served this page has ended.";
    }
    setTimeout(look, EVERY_MS);
  };
  look();
})();
