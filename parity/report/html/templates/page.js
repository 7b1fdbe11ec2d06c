"use strict";
// Search, filter, order and keys. Without it the page shows everything, in the order of the data flow.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  for (const controls of all(".controls")) {
    const body = document.getElementById(controls.dataset.for).tBodies[0];
    const rows = [...body.rows];
    const [search, filter, order] = ["input", ".filter", ".order"].map((one) => controls.querySelector(one));
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const update = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, at) => {
        const fits = !filter.value || row.dataset.verdict === filter.value;
        row.hidden = !(fits && words.every((word) => texts[at].includes(word)));
        shown += row.hidden ? 0 : 1;
      });
      controls.querySelector("output").textContent = `${shown} of ${rows.length}`;
    };
    const sort = () => {
      const sorted = order.value ? [...rows].sort((a, b) => a.dataset.rank - b.dataset.rank) : rows;
      body.append(...sorted);
    };
    search.addEventListener("input", update);
    filter.addEventListener("change", update);
    order.addEventListener("change", sort);
    controls.reset = () => { search.value = filter.value = ""; update(); };
    controls.hidden = false;
    update();
  }
  for (const keys of all(".keys")) keys.hidden = false;

  // A link leads to what is folded or filtered away as well.
  const reveal = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = document.getElementById(id);
    if (!target) return;
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (target.hidden) all(".controls").find((one) => one.dataset.for === target.closest("table").id).reset();
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  const divergences = all(".divergence");
  let current = -1;
  const go = (step) => {
    if (!divergences.length) return;
    const focused = divergences.indexOf(document.activeElement?.closest(".divergence"));
    current = ((focused >= 0 ? focused : current) + step + divergences.length) % divergences.length;
    divergences[current].focus();
    divergences[current].scrollIntoView();
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    if (event.key === "n") go(1);
    else if (event.key === "p") go(current < 0 ? 0 : -1);
    else if (event.key === "/") {
      const search = all(".controls input").find((one) => one.getClientRects().length);
      if (!search) return;
      search.focus();
      event.preventDefault();
    }
  });

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
