"use strict";
// Draws the charts in the colours of the page, sorts tables and copies texts.
(() => {
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const frames = [...document.querySelectorAll("[data-chart]")];
  // More marks than these are drawn on a canvas: as SVG, each would be an element of the page.
  const MOST_ELEMENTS = 3000;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // Specs name colours as the style sheet does; data is left as it is.
  const tinted = (value, key) => {
    if (key === "values" || key === "domain") return value;
    if (typeof value === "string") return value.startsWith("--") ? colour(value) : value;
    if (Array.isArray(value)) return value.map((item) => tinted(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, tinted(item, name)]));
  };

  const theme = () => {
    const [ink, soft, line] = ["--ink", "--soft", "--line"].map(colour);
    const narrow = document.documentElement.clientWidth < 600;
    const title = { titleColor: soft, titleFontSize: 12, titleFontWeight: 500, labelColor: ink, labelFontSize: 12 };
    return {
      background: "transparent",
      font: getComputedStyle(document.body).fontFamily,
      axis: { ...title, gridColor: line, gridOpacity: 0.6, domainColor: soft, tickColor: soft, labelOverlap: true, labelSeparation: 4, labelLimit: narrow ? 110 : 260 },
      legend: { ...title, orient: "top", columns: narrow ? 2 : 4, labelLimit: narrow ? 120 : 260, symbolOpacity: 1 },
      view: { stroke: null },
      mark: { aria: false },
      text: { color: ink, fontSize: 12 },
      rule: { color: soft },
      range: { category: ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7", "--c8"].map(colour) },
    };
  };

  const count = (spec) =>
    (spec.data?.values?.length ?? 0) + (spec.layer ?? []).reduce((sum, layer) => sum + count(layer), 0);

  const draw = async (frame) => {
    const spec = specs[frame.dataset.chart];
    frame.view?.finalize();
    const compiled = vegaLite.compile(tinted(spec), { config: theme() }).spec;
    frame.view = new vegaLite.View(vegaLite.parse(compiled, null, { ast: true }), {
      container: frame,
      expr: vegaLite.expressionInterpreter,
      hover: true,
      renderer: count(spec) > MOST_ELEMENTS ? "canvas" : "svg",
      tooltip: new vegaLite.Handler({ theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" }).call,
    });
    await frame.view.runAsync();
    frame.dataset.drawn = "yes";
  };
  const drawAll = () => Promise.all(frames.map((frame) => draw(frame).catch((error) => {
    frame.textContent = "This chart cannot be drawn; its text says the same.";
    console.error(error);
  })));
  drawAll();
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", drawAll);

  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const head = button.parentElement;
      const table = head.closest("table");
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const key = (row) => row.cells[head.cellIndex].dataset.value ?? row.cells[head.cellIndex].textContent;
      const body = table.tBodies[0];
      const compare = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = head.classList.contains("number") ? x - y : x.localeCompare(y, undefined, { numeric: true });
        return up ? order : -order;
      };
      body.append(...[...body.rows].sort(compare));
    });
  }

  for (const button of document.querySelectorAll(".copy")) {
    const code = button.closest(".code").querySelector("pre");
    button.addEventListener("click", async () => {
      const before = button.textContent;
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        // Pages that are opened from a disk may not have the clipboard: the text is selected instead.
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = before; }, 2000);
    });
  }
})();
