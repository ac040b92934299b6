"use strict";
/* Charts in SVG, drawn anew for each sample. Everything that comes from the server is put in as text, never as markup. */

const Charts = (() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const WIDTH = 400, HEIGHT = 120, LEFT = 46, BOTTOM = 14;

  function shape(name, attributes, text) {
    const made = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined && text !== null) made.textContent = text;
    return made;
  }

  function picture(width, height, label) {
    return shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  }

  /* The least of 1, 2, 5, 10, … that is not below. */
  function roundUp(value) {
    if (!(value > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value);
  }

  function frame(label, top, format) {
    const svg = picture(WIDTH, HEIGHT, label);
    for (const part of [0, 0.5, 1]) {
      const y = (HEIGHT - BOTTOM) - part * (HEIGHT - BOTTOM - 8);
      svg.append(shape("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: "grid" }));
      svg.append(shape("text", { x: LEFT - 4, y: y + 4, "text-anchor": "end", class: "quiet" }, format(top * part)));
    }
    return svg;
  }

  function legend(names, values, format) {
    const list = element("ul", "legend");
    names.forEach((name, at) => {
      const item = element("li", `s${at}`, name + " ");
      const value = values[at];
      item.append(element("b", "", value === null || value === undefined ? "–" : format(value)));
      list.append(item);
    });
    return list;
  }

  /* `points`: the latest last; each `{at, values}`. Time runs from `seconds` ago to now. */
  function place(points, top, seconds) {
    const end = points.length ? points[points.length - 1].at : 0;
    const x = (at) => Math.max(LEFT, WIDTH - (end - at) / (seconds * 1000) * (WIDTH - LEFT));
    const y = (value) => (HEIGHT - BOTTOM) - Math.min(value / top, 1) * (HEIGHT - BOTTOM - 8);
    return { x, y };
  }

  function lines(label, names, points, seconds, format) {
    const all = points.flatMap((point) => point.values.filter((value) => value !== null));
    const top = roundUp(Math.max(0, ...all));
    const svg = frame(label, top, format);
    const { x, y } = place(points, top, seconds);
    names.forEach((_, at) => {
      let way = "", isDown = false;
      for (const point of points) {
        const value = point.values[at];
        if (value === null) { isDown = false; continue; }
        way += `${isDown ? "L" : "M"}${x(point.at).toFixed(1)} ${y(value).toFixed(1)}`;
        isDown = true;
      }
      svg.append(shape("path", { d: way || "M0 0", class: `curve s${at}` }));
    });
    const latest = points.length ? points[points.length - 1].values : [];
    return [svg, legend(names, latest, format)];
  }

  function stack(label, names, points, seconds, format) {
    const sums = points.map((point) => point.values.reduce((a, b) => a + b, 0));
    const top = roundUp(Math.max(0, ...sums));
    const svg = frame(label, top, format);
    const { x, y } = place(points, top, seconds);
    const floor = points.map(() => 0);
    names.forEach((_, at) => {
      const over = points.map((point, n) => floor[n] + point.values[at]);
      const up = points.map((point, n) => `${x(point.at).toFixed(1)} ${y(over[n]).toFixed(1)}`);
      const back = points.map((point, n) => `${x(point.at).toFixed(1)} ${y(floor[n]).toFixed(1)}`).reverse();
      if (points.length) svg.append(shape("path", { d: `M${up.concat(back).join("L")}Z`, class: `area s${at}` }));
      over.forEach((value, n) => { floor[n] = value; });
    });
    const latest = points.length ? points[points.length - 1].values : [];
    return [svg, legend(names, latest, format)];
  }

  /* One bar of parts: `[[name, value], …]`. */
  function bar(label, parts, format) {
    const svg = picture(WIDTH, 34, label);
    const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
    let at = 0;
    svg.append(shape("text", { x: 0, y: 11 }, label));
    parts.forEach(([, value], n) => {
      const width = value / whole * WIDTH;
      svg.append(shape("rect", { x: at, y: 16, width: Math.max(width, 0), height: 14, class: `part s${n}` }));
      at += width;
    });
    return [svg, legend(parts.map(([name]) => name), parts.map(([, value]) => value), format)];
  }

  function clip(text, length) {
    const letters = Array.from(String(text ?? ""));
    return letters.length > length ? letters.slice(0, length - 1).join("") + "…" : letters.join("");
  }

  /* A graph of who waits for whom. `nodes`: `{id, lines, kind}`; `edges`: `{from, to, text}`. Those that wait for nobody
     stand on the left, and each column waits for one to its left; in a circle the columns go on until all are placed. */
  function graph(label, nodes, edges) {
    const BOX = 200, GAP = 180, ROW = 80;
    const known = new Map(nodes.map((node) => [node.id, node]));
    const waits = new Map();
    for (const edge of edges) {
      if (!known.has(edge.from) || !known.has(edge.to)) continue;
      if (!waits.has(edge.from)) waits.set(edge.from, []);
      waits.get(edge.from).push(edge.to);
    }
    const column = new Map();
    let left = nodes.map((node) => node.id);
    for (let depth = 0; left.length; depth++) {
      let next = left.filter((id) => (waits.get(id) || []).every((to) => column.has(to)));
      if (!next.length) next = [left[0]];
      next.forEach((id) => column.set(id, depth));
      left = left.filter((id) => !column.has(id));
    }
    const rows = new Map();
    let height = ROW, width = BOX;
    for (const node of nodes) {
      const at = column.get(node.id), row = rows.get(at) || 0;
      rows.set(at, row + 1);
      node.x = at * (BOX + GAP) + 1;
      node.y = row * ROW + 34;
      width = Math.max(width, node.x + BOX + 2);
      height = Math.max(height, node.y + ROW);
    }
    const svg = picture(width, height, label);
    for (const [key, value] of Object.entries({ class: "graph", width, height })) svg.setAttribute(key, value);
    edges.forEach((edge) => {
      const from = known.get(edge.from), to = known.get(edge.to);
      if (!from || !to) return;
      let way, tip, text;
      if (from.x > to.x) {
        const [x1, y1, x2, y2] = [from.x, from.y + 20, to.x + BOX, to.y + 20];
        way = `M${x1} ${y1}C${x1 - 50} ${y1} ${x2 + 50} ${y2} ${x2 + 7} ${y2}`;
        tip = `M${x2} ${y2}l9 -4v8z`;
        text = { x: (x1 + x2) / 2, y: Math.min(y1, y2) - 8 + Math.abs(y1 - y2) / 2, "text-anchor": "middle" };
      } else {
        const [x1, x2, y] = [from.x + BOX / 2, to.x + BOX / 2, from.y];
        way = `M${x1} ${y}C${x1} ${y - 24} ${x2} ${y - 24} ${x2} ${to.y - 7}`;
        tip = `M${x2} ${to.y}l-4 -9h8z`;
        text = { x: (x1 + x2) / 2, y: y - 24, "text-anchor": "middle" };
      }
      svg.append(shape("path", { d: way, class: "arrow" }), shape("path", { d: tip, class: "tip" }));
      const drawn = shape("text", { ...text, class: "quiet" }, clip(edge.text, 27));
      drawn.append(shape("title", {}, edge.text));
      svg.append(drawn);
    });
    for (const node of nodes) {
      const group = shape("g", { class: "session" });
      group.append(shape("title", {}, node.lines.join("\n")));
      group.append(shape("rect", { x: node.x, y: node.y, width: BOX, height: 40, rx: 5, class: `node ${node.kind}` }));
      node.lines.slice(0, 2).forEach((line, n) => {
        group.append(shape("text", { x: node.x + 6, y: node.y + 16 + n * 16, class: n ? "quiet" : "" }, clip(line, 29)));
      });
      svg.append(group);
    }
    return svg;
  }

  /* A curve without axes, of at most so many values, the latest on the right. */
  function spark(values, most) {
    const width = 90, height = 16;
    const svg = picture(width, height, `from ${Math.min(...values)} to ${Math.max(...values)}`);
    svg.setAttribute("class", "spark");
    const top = Math.max(...values) || 1;
    const points = values.map((value, at) => `${(width - (values.length - 1 - at) * width / (most - 1)).toFixed(1)} ${(height - 1 - value / top * (height - 2)).toFixed(1)}`);
    svg.append(shape("path", { d: `M${points.join("L")}`, class: "curve s0" }));
    return svg;
  }

  /* `columns`: `[title, kind]`, where `true` is a number and `"text"` the server's words; `rows`: lists of texts and pictures, with `waits` set on those to be marked. */
  function table(columns, rows) {
    const made = element("table");
    const head = made.createTHead().insertRow();
    columns.forEach(([title, kind]) => {
      const cell = element("th", kind === true ? "number" : "", title);
      cell.scope = "col";
      head.append(cell);
    });
    const body = made.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      if (row.waits) line.className = "waits";
      row.forEach((value, at) => {
        const kind = columns[at][1];
        const cell = element("td", kind === "text" ? "text" : kind ? "number" : "");
        cell.append(value ?? "–");
        line.append(cell);
      });
    }
    return made;
  }

  return { element, lines, stack, bar, spark, graph, table, clip };
})();
