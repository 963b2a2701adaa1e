"use strict";
(() => {
  // Everything from a host goes through textContent or setAttribute of a harmless attribute; no markup is ever parsed here.
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const text = (value) => (typeof value === "number" ? data.texts[value] : value);
  const from = (table, value) => (typeof value === "number" ? table[value] : value);
  const VERDICTS = ["broken", "degraded", "no-amd-gpu", "healthy"];
  const STEP = 100;

  const make = (tag, className, content) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (content !== undefined) element.textContent = content;
    return element;
  };

  // Names of checks and versions are long words; a line may end behind one of their signs, and else only in need.
  const breakable = (element, content, behind) => {
    for (const part of content.split(behind)) element.append(part, document.createElement("wbr"));
    return element;
  };

  const nodes = data.nodes.map((row, index) => {
    const [name, source, kind, verdict, causes, warnings, errors, environment, fields, differences, layers, drawing] = row;
    return {
      index, name, source, kind, verdict: VERDICTS[verdict], rank: verdict, causes, warnings, errors, environment,
      fields: fields.map(text), differences, layers, drawing, words: null, differing: null,
    };
  });
  const field = (name) => data.fields.indexOf(name);
  const causeIds = (node) => node.causes.map((pair) => text(pair[0]));
  const differing = (node) =>
    (node.differing ??= new Map(
      node.differences.map((d) => from(data.differences, d)).map((d) => [text(d[0]), [text(d[1]), text(d[2])]]),
    ));
  const words = (node) =>
    (node.words ??= [node.name, node.verdict, ...causeIds(node), ...node.fields, text(node.gfx)].join("\n").toLowerCase());
  data.gfx.forEach((gfx, index) => (nodes[index].gfx = gfx));

  // the table -----------------------------------------------------------------------------------------------------

  const column = (label, name) => ({
    label,
    key: (node) => node.fields[field(name)] ?? "",
    fill: (cell, node) => {
      const value = node.fields[field(name)];
      cell.classList.toggle("version", name !== "gpu" && name !== "os");
      cell.classList.toggle("long", name === "torch" || name === "kernel");
      cell.classList.toggle("system", name === "os");
      if (value === null) {
        cell.classList.add("none");
        cell.append(make("span", "soft", "unknown"));
        return;
      }
      const other = differing(node).get(name);
      const shown = make("span", other ? "differs" : "");
      if (cell.classList.contains("version")) breakable(shown, value, /(?<=[_+-])/);
      else shown.textContent = value;
      if (other) shown.title = `expected: ${other[1]}`;
      cell.append(shown);
    },
  });
  const columns = [
    {
      label: "Node",
      key: (node) => node.name,
      fill: (cell, node) => {
        cell.classList.add("name");
        const open = make("button", "open", node.name);
        open.type = "button";
        open.dataset.node = node.index;
        cell.append(open);
      },
    },
    { label: "Verdict", key: (node) => node.rank, fill: (cell, node) => cell.append(make("span", `pill ${node.verdict}`, node.verdict)) },
    {
      label: "Root cause",
      key: (node) => causeIds(node).join(" ") || "\uffff",
      fill: (cell, node) => {
        const ids = causeIds(node);
        cell.classList.add("cause");
        cell.classList.toggle("none", !ids.length);
        if (ids.length) cell.append(breakable(make("code"), ids.join(", "), /(?<=[._-])/));
      },
    },
    column("GPU", "gpu"),
    column("System", "os"),
    column("Kernel", "kernel"),
    column("Driver", "driver"),
    column("ROCm", "rocm"),
    column("PyTorch", "torch"),
    {
      label: "Differs",
      key: (node) => -node.differences.length,
      fill: (cell, node) => {
        const count = node.differences.length;
        cell.classList.toggle("none", !count);
        cell.textContent = count ? `in ${count}` : "";
      },
    },
  ];

  const collator = new Intl.Collator("en", { numeric: true });
  const state = { words: "", verdict: null, cause: null, field: null, column: 1, down: false, limit: STEP };
  let listed = [];

  const compare = (a, b) => {
    const key = columns[state.column].key;
    const [x, y] = [key(a), key(b)];
    const order = typeof x === "number" ? x - y : collator.compare(x, y);
    return (state.down ? -order : order) || a.index - b.index;
  };

  const select = () => {
    const wanted = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    listed = nodes.filter(
      (node) =>
        (state.verdict === null || node.verdict === state.verdict) &&
        (state.cause === null || causeIds(node).includes(state.cause)) &&
        (state.field === null || [...differing(node).keys()].some((what) => what === state.field || what.startsWith(`${state.field} `))) &&
        wanted.every((word) => words(node).includes(word)),
    );
    listed.sort(compare);
  };

  const rowOf = (node) => {
    const row = make("tr");
    for (const { label, fill } of columns) {
      const cell = make("td");
      cell.dataset.label = label;
      fill(cell, node);
      row.append(cell);
    }
    return row;
  };

  const show = () => {
    select();
    state.limit = STEP;
    byId("rows").replaceChildren(...listed.slice(0, state.limit).map(rowOf));
    tell();
  };

  const number = (count) => count.toLocaleString("en");

  const tell = () => {
    const rest = listed.length - state.limit;
    byId("more").hidden = rest <= 0;
    byId("more").textContent = `Show ${number(Math.min(rest, STEP))} more of ${number(rest)}`;
    const count = listed.length === nodes.length ? number(nodes.length) : `${number(listed.length)} of ${number(nodes.length)}`;
    byId("shown").textContent = `${count} ${nodes.length === 1 ? "node" : "nodes"}`;
    byId("reset").hidden = !(state.words || state.verdict || state.cause !== null || state.field);
    for (const button of document.querySelectorAll("[data-verdict],[data-cause],[data-field]")) {
      const { verdict, cause, field: what } = button.dataset;
      const chosen = verdict ? verdict === state.verdict : cause ? text(data.causes[cause]) === state.cause : what === state.field;
      button.setAttribute("aria-pressed", chosen);
    }
  };

  const sortBy = (index, down) => {
    state.column = index;
    state.down = down;
    [...byId("head").children].forEach((head, n) => {
      if (n === index) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    byId("order").value = `${index}${down ? "-" : ""}`;
    show();
  };

  columns.forEach(({ label }, index) => {
    const head = make("th");
    head.scope = "col";
    const button = make("button", "", label);
    button.type = "button";
    button.addEventListener("click", () => sortBy(index, state.column === index && !state.down));
    head.append(button);
    byId("head").append(head);
    for (const [suffix, way] of [["", ""], ["-", ", reversed"]]) {
      const option = make("option", "", label + way);
      option.value = `${index}${suffix}`;
      byId("order").append(option);
    }
  });
  byId("order").addEventListener("change", (event) => {
    sortBy(parseInt(event.target.value, 10), event.target.value.endsWith("-"));
  });
  byId("search").addEventListener("input", (event) => {
    state.words = event.target.value;
    show();
  });
  byId("more").addEventListener("click", () => {
    const next = listed.slice(state.limit, state.limit + STEP).map(rowOf);
    byId("rows").append(...next);
    state.limit += STEP;
    tell();
    next[0]?.querySelector("button").focus();
  });
  byId("reset").addEventListener("click", () => {
    Object.assign(state, { words: "", verdict: null, cause: null, field: null });
    byId("search").value = "";
    show();
    byId("search").focus();
  });
  document.querySelector("main").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { verdict, cause, field: what, node } = button.dataset;
    if (node !== undefined) return open(nodes[node]);
    if (verdict) state.verdict = state.verdict === verdict ? null : verdict;
    else if (cause) state.cause = state.cause === text(data.causes[cause]) ? null : text(data.causes[cause]);
    else if (what) state.field = state.field === what ? null : what;
    else return;
    show();
  });

  // one node ------------------------------------------------------------------------------------------------------

  const LABELS = { os: "System", gpu: "GPU", kernel: "Kernel", driver: "Driver", rocm: "ROCm", firmware: "Firmware", torch: "PyTorch" };
  const GROUPS = {
    hardware: "Hardware", driver: "Kernel and driver", runtime: "Run time", compiler: "Compiler", libraries: "Libraries",
    tools: "Tools", frameworks: "Frameworks",
  };
  const SVG = "http://www.w3.org/2000/svg";
  const dialog = byId("node");

  const list = (heading, items) => {
    if (!items.length) return [];
    const found = make("ul", "list");
    found.append(...items);
    return [make("h3", "", heading), found];
  };
  const named = ([id, title]) => {
    const item = make("li");
    item.append(make("code", "", text(id)));
    if (text(title)) item.append(` ${text(title)}`);
    return item;
  };

  const facts = (node) => {
    const found = make("dl", "facts");
    const entry = (label, value) => found.append(make("dt", "", label), make("dd", "", value));
    data.fields.forEach((name, index) => entry(LABELS[name], node.fields[index] ?? "unknown"));
    if (text(node.environment)) entry("Kind of host", text(node.environment));
    entry(node.kind === "report" ? "Report" : "Snapshot", node.source);
    return found;
  };

  const stack = (node) => {
    if (!node.layers.length) return [make("h3", "", "Stack"), make("p", "soft", "A report does not hold the stack; a snapshot does.")];
    const table = make("table");
    const body = make("tbody");
    let last = "";
    for (const row of node.layers.map((layer) => from(data.layers, layer))) {
      const [group, name, version, source, fit, why, check] = row.map(text);
      if (group !== last) {
        const line = make("tr", "group");
        const head = make("th", "", GROUPS[group] ?? group);
        head.colSpan = 4;
        line.append(head);
        body.append(line);
        last = group;
      }
      const line = make("tr");
      const head = make("th", "", name);
      head.scope = "row";
      const told = make("td", `fit-${fit.replaceAll(" ", "-")}`, fit);
      line.append(head, make("td", "mono", version), told, make("td", "from soft", source));
      if (why && fit !== "fits") told.append(make("div", "why", check ? `${why} (${check})` : why));
      body.append(line);
    }
    table.append(body);
    const box = make("div", "stack");
    box.append(table);
    return [make("h3", "", "Stack"), box];
  };

  const links = (node) => {
    if (node.drawing === null) return [make("h3", "", "GPU links"), make("p", "soft", "No GPU to draw, or a report, which holds no links.")];
    const [width, height, title, shapes] = from(data.drawings, node.drawing);
    const svg = document.createElementNS(SVG, "svg");
    const add = (parent, tag, attributes, content) => {
      const element = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (content) element.textContent = content;
      parent.append(element);
      return element;
    };
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, class: "links", role: "img", "aria-label": title }))
      svg.setAttribute(name, value);
    for (const [kind, name, place, words, hint] of shapes) {
      let shape = null;
      if (kind === "rect") shape = add(svg, "rect", { class: name, x: place[0], y: place[1], width: place[2], height: place[3], rx: 6 });
      else if (kind === "text") add(svg, "text", { class: name, x: place[0], y: place[1] }, words);
      else shape = add(svg, "path", { class: name, d: words });
      if (shape && hint) add(shape, "title", {}, hint);
    }
    return [make("h3", "", "GPU links"), make("p", "soft", title), svg];
  };

  const open = (node) => {
    const bar = make("div", "bar");
    const heading = make("h2", "", node.name);
    heading.id = "node-name";
    const close = make("button", "", "Close");
    close.type = "button";
    close.addEventListener("click", () => dialog.close());
    bar.append(heading, make("span", `pill ${node.verdict}`, node.verdict), close);
    const body = make("div", "body");
    const differences = [...differing(node)].map(([what, [found, expected]]) => {
      const item = make("li");
      item.append(make("b", "", LABELS[what] ?? what), " ", make("code", "", found), " instead of ", make("code", "", expected));
      return item;
    });
    const left = make("div");
    const right = make("div");
    left.append(...stack(node));
    right.append(...links(node));
    const pair = make("div", "columns");
    pair.append(left, right);
    body.append(
      facts(node),
      ...list("Root causes", node.causes.map(named)),
      ...list("Warnings", node.warnings.map(named)),
      ...list("Checks that broke", node.errors.map((id) => named([id, ""]))),
      ...list(`Differences from ${data.measure}`, differences),
      pair,
    );
    dialog.replaceChildren(bar, body);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    close.focus();
    history.replaceState(null, "", `#${encodeURIComponent(node.name)}`);
  };
  dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });

  byId("nodes").hidden = false;
  sortBy(1, false);
  let asked = "";
  try {
    asked = decodeURIComponent(location.hash.slice(1));
  } catch {
    asked = ""; // an address that somebody typed
  }
  const first = asked && nodes.find((node) => node.name === asked);
  if (first) open(first);
})();
