"use strict";
(() => {
  const LANES = ["person", "driver", "harness", "model"];
  const timelines = JSON.parse(document.getElementById("timelines").textContent);
  const form = document.querySelector("form.filter");
  const checks = [...document.querySelectorAll("details.check")];
  const rows = [...document.querySelectorAll("tr.clause-row")];

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // A timeline is drawn when its check is opened for the first time: a page with hundreds of checks stays quick.
  const SHORT = 110;
  const MARK = "… (1000000 more characters)".length;

  const told = (title, text) => {
    const what = element("div", "what");
    what.append(element("b", "", title), " ");
    if (text.length <= SHORT + MARK) {
      what.append(element("code", "", text));
      return what;
    }
    const more = element("details", "more");
    const summary = element("summary");
    summary.append(element("code", "", text.slice(0, SHORT) + "…"));
    more.append(summary, element("pre", "", text));
    what.append(more);
    return what;
  };

  const drawn = (timeline, evidence) => {
    const part = element("section", "timeline");
    if (timeline.missing) {
      part.append(element("p", "quiet", "No timeline: " + timeline.missing + "."));
      return part;
    }
    const shown = timeline.rows.length;
    part.append(
      element("h3", "", "Timeline"),
      element("p", "quiet", (shown < timeline.total ? shown + " of " + timeline.total + " rows; " : "") +
        "rows with a bar are what the verdict points at"),
    );
    const used = new Set(timeline.rows.map((row) => row[2]));
    const list = element("div", "lanes");
    list.setAttribute("role", "table");
    list.setAttribute("aria-label", "Timeline");
    if (!used.has("person")) list.classList.add("nobody");
    const head = element("div", "lane-row head");
    head.setAttribute("role", "row");
    for (const name of ["time", ...LANES]) {
      const cell = element("span", name === "time" ? "at" : "name lane-" + name, name);
      cell.setAttribute("role", "columnheader");
      head.append(cell);
    }
    list.append(head);
    let last = 0;
    for (const [n, at, lane, title, text] of timeline.rows) {
      if (n > last + 1) {
        const left = n - last - 1;
        list.append(element("p", "gap", "… " + left + (left === 1 ? " row" : " rows") + " not shown …"));
      }
      last = n;
      const row = element("div", "lane-row in-" + lane + (evidence.has(n) ? " evidence" : ""));
      row.setAttribute("role", "row");
      const time = element("span", "at", (at / 1000).toFixed(2) + " s");
      time.title = "row " + n;
      time.setAttribute("role", "cell");
      row.append(time);
      for (const name of LANES) {
        const guide = element("i", "guide lane-" + name + (name === lane ? " here" : ""));
        guide.setAttribute("aria-hidden", "true");
        row.append(guide);
      }
      const what = told(title, text);
      what.setAttribute("role", "cell");
      what.setAttribute("aria-label", lane + ": " + title);
      row.append(what);
      list.append(row);
    }
    part.append(list);
    return part;
  };

  const draw = (check) => {
    if (check.dataset.timeline === undefined || check.dataset.drawn) return;
    check.dataset.drawn = "yes";
    const evidence = new Set(check.dataset.evidence.split(" ").map(Number));
    check.querySelector(".body").append(drawn(timelines[Number(check.dataset.timeline)], evidence));
  };

  for (const check of checks) {
    check.addEventListener("toggle", () => {
      if (check.open) draw(check);
    });
  }

  // A link from the matrix opens its check.
  const follow = () => {
    const check = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!check || !check.matches("details.check")) return;
    check.hidden = false;
    check.open = true;
    draw(check);
    check.querySelector("summary").focus({ preventScroll: true });
    check.scrollIntoView({ block: "start" });
  };
  addEventListener("hashchange", follow);
  for (const link of document.querySelectorAll("a.cell")) {
    // The same link a second time changes no address: open it all the same.
    link.addEventListener("click", () => {
      if (link.hash === location.hash) follow();
    });
  }

  const words = new Map(checks.map((check) => [check.id, check.textContent.toLowerCase()]));

  const filter = () => {
    const text = form.elements.text.value.trim().toLowerCase();
    const verdict = form.elements.verdict.value;
    const harness = form.elements.harness.value;
    const fits = (check) =>
      words.get(check.id).includes(text) &&
      (!verdict || (verdict === "red" ? check.dataset.red === "yes" : check.dataset.verdict === verdict)) &&
      (!harness || check.dataset.harness === harness);
    const kept = new Set(checks.filter(fits).map((check) => check.id));
    for (const check of checks) check.hidden = !kept.has(check.id);
    for (const row of rows) {
      row.hidden = ![...row.querySelectorAll("a.cell")].some((link) => kept.has(link.hash.slice(1)));
    }
    for (const body of document.querySelectorAll("tbody")) {
      body.hidden = ![...body.querySelectorAll("tr.clause-row")].some((row) => !row.hidden);
    }
    form.querySelector("output").textContent = kept.size + " of " + checks.length + " checks";
  };
  form.hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  filter();
  follow();
})();
