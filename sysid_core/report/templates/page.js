// Draws every chart of the page in its own colours: panels as SVG, views in space on a canvas.
// A chart is data and layout in Plotly's words (the part of them that the reports use).
const NS = "http://www.w3.org/2000/svg", charts = [...document.querySelectorAll(".chart")];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const list = value => value == null ? [] : Array.isArray(value) ? value : [value];
const at = (value, i) => Array.isArray(value) ? value[i] : value;
const element = (tag, parent, attributes = {}, text) => {
  const made = parent.namespaceURI === NS || tag === "svg" ? document.createElementNS(NS, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
  if (text != null) made.textContent = String(text).replace(/<br>/g, " ");
  parent.append(made);
  return made;
};

// Long arrays come as 16-bit steps of their range (65535: no value).
function unpacked(value) {
  if (Array.isArray(value)) return value.map(unpacked);
  if (!value || typeof value !== "object") return value;
  if ("steps" in value) {
    const bytes = Uint8Array.from(atob(value.steps), c => c.charCodeAt(0)), step = (value.high - value.low) / 65534;
    const flat = Array.from(new Uint16Array(bytes.buffer), k => k === 65535 ? null : value.low + k * step);
    if (!value.width) return flat;
    return Array.from({ length: flat.length / value.width }, (_, i) => flat.slice(i * value.width, (i + 1) * value.width));
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, unpacked(item)]));
}

function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw * 0.999), found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found.map(v => [v, short(Math.abs(v) < 1e-9 * step ? 0 : v)]);
}
const short = v => v === 0 ? "0" : Math.abs(v) >= 1e5 || Math.abs(v) < 1e-3 ? v.toExponential(1).replace(".0e", "e") : String(+v.toPrecision(4));

function colourOf(scale, share) {
  const stops = scale?.length ? scale : [[0, "#dfe9f5"], [1, "#0072B2"]];
  const rgb = text => text[0] === "#" ? [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16)) : text.match(/[\d.]+/g).map(Number);
  const k = Math.max(1, stops.findIndex(stop => stop[0] >= share)), [a, b] = [stops[k - 1], stops[k] ?? stops.at(-1)];
  const t = b[0] > a[0] ? Math.min(1, Math.max(0, (share - a[0]) / (b[0] - a[0]))) : 0, [p, q] = [rgb(a[1]), rgb(b[1])];
  return `rgb(${p.map((v, i) => Math.round(v + t * (q[i] - v))).slice(0, 3)})`;
}

// The panels of a figure with their traces, axes and titles, in reading order.
function panelsOf(data, layout) {
  const panels = new Map();
  const panel = (x, y) => {
    const key = x + y;
    if (!panels.has(key)) panels.set(key, { x, y, ax: layout["xaxis" + x.slice(1)] ?? {}, ay: layout["yaxis" + y.slice(1)] ?? {}, traces: [], shapes: [] });
    return panels.get(key);
  };
  for (const key of Object.keys(layout).filter(k => /^xaxis/.test(k))) {
    const x = "x" + key.slice(5);
    panel(x, layout[key].anchor ?? "y" + key.slice(5));
  }
  for (const t of data) if (/^\d{4}-\d\d-\d\d[T ]/.test(t.x?.[0] ?? "")) {
    t.x = t.x.map(v => Date.parse(v.replace(" ", "T")) / 864e5);  // days
    const axis = layout["xaxis" + (t.xaxis ?? "x").slice(1)] ??= {};
    axis.dates = true;
  }
  data.forEach(trace => panel(trace.xaxis ?? "x", trace.yaxis ?? "y").traces.push(trace));
  const all = [...panels.values()].filter(p => p.traces.length);
  for (const shape of layout.shapes ?? []) {
    const refs = [shape.xref, shape.yref].map(r => (r ?? "").split(" ")[0]);
    all.filter(p => refs.includes(p.x) || refs.includes(p.y) || refs.every(r => r === "paper")).forEach(p => p.shapes.push(shape));
  }
  const start = (axis, k) => axis.domain?.[k] ?? 0;
  all.sort((p, q) => start(q.ay, 1) - start(p.ay, 1) || start(p.ax, 0) - start(q.ax, 0));
  (layout.annotations ?? []).filter(a => a.xref === "paper" && a.yref === "paper").forEach((a, i) => { if (all[i]) all[i].title = a.text; });
  return { all, columns: new Set(all.map(p => start(p.ax, 0))).size };
}

function axisOf(layout, values, spread) {
  const names = values.some(v => typeof v === "string");
  const axis = { names: names ? [...new Set([...(layout.categoryarray ?? []), ...values.filter(v => v != null)])] : null, log: layout.type === "log", dates: layout.dates, reversed: layout.autorange === "reversed" };
  if (names) return { ...axis, low: -0.5, high: axis.names.length - 0.5, place: v => axis.names.indexOf(v) };
  axis.place = v => v == null ? NaN : axis.log ? (v > 0 ? Math.log10(v) : NaN) : +v;
  let low = Infinity, high = -Infinity;
  for (const v of values) { const w = axis.place(v); if (isFinite(w)) { low = Math.min(low, w); high = Math.max(high, w); } }
  if (layout.range) [low, high] = layout.range;
  else if (isFinite(low)) { const room = spread * (high - low || Math.abs(high) || 1); low -= room; high += room; } else [low, high] = [0, 1];
  return { ...axis, low, high };
}
function ticksOf(axis, most) {
  if (axis.names) return axis.names.map((name, i) => [i, name]);
  if (axis.dates) return ticks(axis.low, axis.high, most).map(([v]) => [v, new Date(v * 864e5).toISOString().slice(0, axis.high - axis.low < 3 ? 16 : 10).replace("T", " ")]);
  if (!axis.log) return ticks(axis.low, axis.high, most);
  const whole = [];
  for (let k = Math.ceil(axis.low); k <= axis.high; k++) whole.push([k, short(10 ** k)]);
  return whole.length > 1 ? whole.filter((_, i) => i % Math.ceil(whole.length / most) === 0) : ticks(axis.low, axis.high, most).map(([v]) => [v, short(10 ** v)]);
}

const SYMBOLS = { circle: "M-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0Z", diamond: "M0,-5L5,0L0,5L-5,0Z", square: "M-4,-4H4V4H-4Z", x: "M-4,-4L4,4M4,-4L-4,4", "line-ns": "M0,-7V7" };

class Panels {
  constructor(chart, data, layout) {
    Object.assign(this, { chart, data, layout, hidden: new Set(data.filter(t => t.visible === "legendonly").map(t => t.legendgroup || t.name)), zoom: null, cursor: null });
    this.legend();
    const heat = data.find(t => t.type === "heatmap" && t.showscale !== false);
    if (heat) {
      const z = heat.z.flat().filter(v => v != null), low = heat.zmin ?? Math.min(...z), high = heat.zmax ?? Math.max(...z);
      if (heat.reversescale) heat.colorscale = heat.colorscale.map(([k, c]) => [1 - k, c]).reverse();
      data.forEach(t => { if (t !== heat && t.type === "heatmap") t.colorscale = heat.colorscale; });
      const bar = element("p", chart, { class: "readout soft" }, `${heat.colorbar?.title?.text ?? ""} ${short(low)} `);
      element("span", bar, { class: "scale", style: `background:linear-gradient(90deg,${[0, 0.25, 0.5, 0.75, 1].map(k => colourOf(heat.colorscale, k))})` });
      bar.append(` ${short(high)}`);
    }
    this.box = element("div", chart, { class: "panels" });
    this.readout = element("output", chart, { class: "readout soft" });
    chart.tabIndex = 0;
    chart.addEventListener("keydown", event => this.key(event));
    this.draw();
  }
  // Names of the lines, each once; a click or the keyboard hides and shows.
  legend() {
    const names = new Map();
    this.data.forEach((t, i) => { const key = t.legendgroup || t.name; if (t.name && t.showlegend !== false && !names.has(key)) names.set(key, t); });
    if (names.size < 2 || this.layout.showlegend === false) return;
    const bar = element("div", this.chart, { class: "legend" });
    for (const [key, t] of names) {
      const item = element("button", bar, { type: "button", "aria-pressed": !this.hidden.has(key) });
      const mark = element("svg", item, { width: 22, height: 12, viewBox: "-11 -6 22 12", "aria-hidden": true });
      this.sample(mark, t);
      element("span", item, {}, t.name);
      item.onclick = () => {
        this.hidden.has(key) ? this.hidden.delete(key) : this.hidden.add(key);
        item.setAttribute("aria-pressed", !this.hidden.has(key));
        this.draw();
      };
    }
  }
  colour(t) { const first = list(t.line?.color ?? t.marker?.color)[0]; if (first === "#000000") return "var(--ink)"; return list(t.line?.color ?? t.marker?.color)[0] ?? this.layout.colorway?.[this.data.indexOf(t)] ?? ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"][this.data.indexOf(t) % 6]; }
  sample(svg, t) {
    if (t.type === "bar" || t.type === "heatmap") element("path", svg, { d: "M-8,-5H8V5H-8Z", fill: this.colour(t) });
    else if (t.fill) element("path", svg, { d: "M-10,-5H10V5H-10Z", fill: t.fillcolor ?? this.colour(t), opacity: t.opacity ?? 1 });
    else if (/markers/.test(t.mode ?? "")) this.mark(svg, t, 0, 0, 0);
    else element("path", svg, { d: "M-10,0H10", stroke: this.colour(t), "stroke-width": 2, "stroke-dasharray": dash(t.line?.dash) });
  }
  mark(parent, t, i, x, y) {
    const symbol = String(at(t.marker?.symbol, i) ?? "circle"), hollow = /open/.test(symbol) || /^(x|line)/.test(symbol), colour = at(t.marker?.color, i) ?? this.colour(t);
    return element("path", parent, { d: SYMBOLS[symbol.replace("-open", "")] ?? SYMBOLS.circle, transform: `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${(at(t.marker?.size, i) ?? 7) / 8})`, fill: hollow ? "none" : colour, stroke: colour, "stroke-width": hollow ? 1.8 : 0.6 });
  }
  draw() {
    const width = this.width ?? this.box.clientWidth, { all, columns } = panelsOf(this.data, this.layout);
    const wide = width > 760, rows = Math.ceil(all.length / columns);
    const tall = Math.max(110, ((this.layout.height ?? 420) - (all.length > 1 ? 110 : 0)) / rows);
    const beside = !wide ? 1 : columns > 1 ? columns : all.length > 3 && !all.some(p => p.traces.some(t => typeof t.x?.[0] === "string")) ? 2 : 1;
    this.box.replaceChildren();
    this.box.style.gridTemplateColumns = `repeat(${beside}, minmax(0, 1fr))`;
    const shared = all.some(p => p.ax.matches);
    this.shown = all.map((p, i) => {
      const last = i >= all.length - beside;
      return this.panel(p, Math.floor((width - 14 * (beside - 1)) / beside), tall + (shared && !last ? 0 : 14), shared);
    });
    this.chart.layout.width = this.width;
  }
  panel(p, W, H, shared) {
    const traces = p.traces.filter(t => !this.hidden.has(t.legendgroup || t.name));
    const stacked = this.layout.barmode === "stack", flat = p.traces.some(t => t.orientation === "h");
    const of = (key, traces) => traces.flatMap(t => t[key] ?? []);
    let [xs, ys] = [of("x", p.traces), of("y", p.traces)];
    for (const t of traces.filter(t => t.error_x?.array)) t.x.forEach((x, i) => xs.push(x - t.error_x.array[i], x + t.error_x.array[i]));
    if (p.traces[0].type === "bar") {
      const sums = {};
      p.traces.forEach(t => (flat ? t.y : t.x).forEach((k, i) => { sums[k] = (stacked ? sums[k] ?? 0 : 0) + (flat ? t.x : t.y)[i]; (flat ? xs : ys).push(sums[k]); }));
      if ((flat ? p.ax : p.ay).type !== "log") (flat ? xs : ys).push(0);
    }
    for (const t of traces.filter(t => t.error_y?.array)) t.y.forEach((y, i) => ys.push(y - t.error_y.array[i], y + t.error_y.array[i]));
    for (const s of p.shapes) { if (s.x0 === s.x1 && !/domain|paper/.test(s.xref)) xs.push(s.x0); if (s.y0 === s.y1 && !/domain|paper/.test(s.yref)) ys.push(s.y0); }
    const bar = p.traces[0].type === "bar", heat = /heatmap|contour/.test(p.traces[0].type);
    const ax = axisOf(p.ax, xs, bar && !flat || heat ? 0 : bar ? 0.04 : 0.01), ay = axisOf(p.ay, ys, heat ? 0 : 0.06);
    if (this.zoom && shared && !ax.names) [ax.low, ax.high] = this.zoom;
    else if (this.zoom && !shared && this.zoom.panel === p.x) [ax.low, ax.high] = this.zoom;
    const title = p.title ? 20 : 6, ty = ticksOf(ay, Math.max(2, H / 42)), narrow = W < 500;
    const wordy = ay.names && narrow ? 11 : ay.names ? 12 : 11;
    const left = Math.min(W * 0.46, 12 + (p.ay.title?.text ? 16 : 0) + 0.56 * wordy * Math.max(1, ...ty.map(t => String(t[1]).length)));
    let tx = ticksOf(ax, Math.max(2, (W - left) / 80));
    const turned = ax.names && tx.length * 0.6 * 11 * Math.max(...tx.map(t => String(t[1]).length)) > (W - left);
    const hideX = p.ax.showticklabels === false;
    const bottom = hideX ? 6 : (turned ? Math.min(150, 14 + 6 * Math.max(...tx.map(t => String(t[1]).length))) : 20) + (p.ax.title?.text ? 16 : 0);
    if (ax.names && turned) { H += bottom - 20; if (tx.length * 11 > W - left) tx = tx.filter((_, i) => i % Math.ceil(tx.length * 11 / (W - left)) === 0); }
    if (ay.names && !bar && !heat) H = 17 * ay.names.length + title + bottom + 8;
    const svg = element("svg", this.box, { width: W, height: H, viewBox: `0 0 ${W} ${H}`, "aria-hidden": true });
    const [x0, x1, y0, y1] = [left, W - 8, H - bottom, title];
    const X = v => x0 + (x1 - x0) * (ax.place(v) - ax.low) / (ax.high - ax.low), flip = ay.reversed;
    const Y = v => { const share = (ay.place(v) - ay.low) / (ay.high - ay.low); return flip ? y1 + (y0 - y1) * share : y0 - (y0 - y1) * share; };
    const px = raw => x0 + (x1 - x0) * (raw - ax.low) / (ax.high - ax.low), py = raw => { const share = (raw - ay.low) / (ay.high - ay.low); return flip ? y1 + (y0 - y1) * share : y0 - (y0 - y1) * share; };
    const grid = element("g", svg, { class: "grid" }), clip = "c" + Math.random().toString(36).slice(2);
    const cut = text => { const most = Math.floor((left - 8) / 6.1); return String(text).length > most ? String(text).slice(0, most - 1) + "…" : text; };
    const skip = ay.names ? Math.ceil(ty.length * 12 / (y0 - y1)) : 1;
    for (const [v, text] of ty.filter((_, i) => i % skip === 0)) {
      if (!heat) element("path", grid, { d: `M${x0},${py(v)}H${x1}`, class: v === 0 && !ay.names ? "zero" : null });
      const label = element("text", svg, { x: x0 - 5, y: py(v) + 4, "text-anchor": "end", class: "tick" }, ay.names ? cut(text) : text);
      if (ay.names) element("title", label, {}, text);
    }
    for (const [v, text] of tx) {
      if (!heat && !ax.names) element("path", grid, { d: `M${px(v)},${y0}V${y1}`, class: v === 0 ? "zero" : null });
      if (!hideX) element("text", svg, turned ? { transform: `translate(${px(v) + 4},${y0 + 8}) rotate(-60)`, "text-anchor": "end", class: "tick" } : { x: px(v), y: y0 + 14, "text-anchor": "middle", class: "tick" }, turned ? String(text).slice(0, 26) : text);
    }
    if (p.title) element("text", svg, { x: narrow ? 2 : x0, y: 13, class: "name" }, narrow ? p.title.slice(0, Math.floor(W / 6.4)) : p.title);
    if (p.ax.title?.text && !hideX) element("text", svg, { x: (x0 + x1) / 2, y: H - 3, "text-anchor": "middle", class: "tick" }, p.ax.title.text);
    if (p.ay.title?.text) element("text", svg, { transform: `translate(10,${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle", class: "tick" }, p.ay.title.text);
    element("rect", element("clipPath", element("defs", svg), { id: clip }), { x: x0, y: y1, width: Math.max(0, x1 - x0), height: Math.max(0, y0 - y1) });
    const inside = element("g", svg, { "clip-path": `url(#${clip})` });
    for (const s of p.shapes) {
      const wholeX = /domain|paper/.test(s.xref), wholeY = /domain|paper/.test(s.yref);
      const raw = v => ax.log ? Math.log10(v) : v, rawY = v => ay.log ? Math.log10(v) : v;
      const [a, b] = wholeX ? [x0, x1] : [px(raw(s.x0)), px(raw(s.x1))], [c, d] = wholeY ? [y0, y1] : [py(rawY(s.y0)), py(rawY(s.y1))];
      if (s.type === "rect") element("rect", inside, { x: Math.min(a, b), y: Math.min(c, d), width: Math.abs(b - a), height: Math.abs(d - c), fill: s.fillcolor, opacity: s.opacity });
      else element("path", inside, { d: `M${a},${c}L${b},${d}`, stroke: s.line?.color ?? "var(--soft)", "stroke-width": 1.4, "stroke-dasharray": dash(s.line?.dash) });
    }
    const below = {};
    traces.forEach((t, k) => this.trace(inside, t, { X, Y, ax, ay, x0, y0, y1, x1, flat, stacked, below, k, many: traces.length }));
    const line = element("path", svg, { class: "cursor", d: "" });
    const shown = { p, svg, ax, x0, x1, y0, y1, traces, line, value: at => ax.low + (ax.high - ax.low) * (at - x0) / (x1 - x0), px };
    this.pointer(shown, shared);
    return shown;
  }
  trace(g, t, { X, Y, ax, ay, x0, y0, y1, x1, flat, stacked, below, k, many }) {
    const colour = this.colour(t);
    if (t.type === "heatmap" || t.type === "contour") {
      const x = t.x ?? t.z[0].map((_, i) => i), y = t.y ?? t.z.map((_, i) => i), w = (x1 - x0) / x.length, h = (y0 - y1) / y.length;
      const flatZ = t.z.flat().filter(v => v != null), low = t.zmin ?? Math.min(...flatZ), high = t.zmax ?? Math.max(...flatZ), cells = typeof x[0] === "string";
      if (t.type === "contour") {  // the edge between two kinds of cells
        let d = "";
        t.z.forEach((row, i) => row.forEach((z, j) => {
          if (j + 1 < row.length && z !== row[j + 1]) d += `M${x0 + (j + 1) * w},${y0 - i * h}v${-h}`;
          if (i + 1 < t.z.length && z !== t.z[i + 1][j]) d += `M${x0 + j * w},${y0 - (i + 1) * h}h${w}`;
        }));
        element("path", g, { d, stroke: colour, "stroke-width": 2, fill: "none" });
        return;
      }
      t.z.forEach((row, i) => row.forEach((z, j) => { if (z != null && (Math.abs(z) > 1e-3 * (high - low) || !(low < 0))) element("rect", g, { x: cells ? X(x[j]) - w / 2 : x0 + j * w, y: cells || ay.names ? Y(y[i]) - h / 2 : y0 - (i + 1) * h, width: w + 0.4, height: h + 0.4, fill: colourOf(t.colorscale, high > low ? (z - low) / (high - low) : 0) }); }));
      return;
    }
    if (t.type === "bar") {
      const keys = flat ? t.y : t.x, sizes = flat ? t.x : t.y, count = (flat ? ay : ax).names?.length ?? keys.length;
      const room = Math.abs(flat ? y0 - y1 : x1 - x0) / count * 0.8, each = stacked ? room : room / many;
      keys.forEach((key, i) => {
        if (sizes[i] == null) return;
        const base = stacked ? below[key] ?? 0 : 0, end = base + sizes[i];
        below[key] = end;
        const middle = (flat ? Y(key) : X(key)) - room / 2 + (stacked ? 0 : k * each), fill = at(t.marker?.color, i) ?? colour;
        const log = (flat ? ax : ay).log, from = flat ? (log ? x0 : X(base)) : (log ? y0 : Y(base)), to = flat ? X(end) : Y(end);
        element("rect", g, flat ? { x: Math.min(from, to), y: middle, width: Math.abs(to - from), height: each, fill } : { x: middle, y: Math.min(from, to), width: each, height: Math.abs(to - from), fill });
        if (flat && t.text) { const beyond = to > x1 - 60; element("text", g, { x: beyond ? to - 5 : to + 5, y: middle + each / 2 + 4, "text-anchor": beyond ? "end" : "start", class: beyond ? "tick on" : "tick" }, at(t.text, i)); }
      });
      return;
    }
    const points = (t.x ?? []).map((x, i) => [X(x), Y(t.y[i])]);
    const mode = t.mode ?? "lines";
    if (/lines/.test(mode) || t.fill) {
      let d = "", open = false;
      points.forEach(([x, y], i) => {
        if (!isFinite(x) || !isFinite(y)) { open = false; return; }
        if (open && t.line?.shape === "hvh") { const m = (points[i - 1][0] + x) / 2; d += `H${m.toFixed(1)}V${y.toFixed(1)}H${x.toFixed(1)}`; }
        else d += (open ? "L" : "M") + x.toFixed(1) + "," + y.toFixed(1);
        open = true;
      });
      const width = t.line?.width ?? 1.4;
      element("path", g, { d: d + (t.fill === "toself" ? "Z" : ""), fill: t.fill === "toself" ? t.fillcolor ?? colour : "none", opacity: t.fill ? t.opacity ?? 0.25 : null, stroke: width ? at(colour, 0) : "none", "stroke-width": width, "stroke-dasharray": dash(t.line?.dash), "stroke-linejoin": "round" });
    }
    if (!/markers/.test(mode)) return;
    const bars = t.error_x?.array;
    points.forEach(([x, y], i) => {
      if (!isFinite(y) || t.x[i] == null) return;
      const tint = at(t.marker?.color, i) ?? colour, high = t.error_y?.array?.[i];
      if (high > 0) element("path", g, { d: `M${x},${Y(t.y[i] - high)}V${Y(t.y[i] + high)}`, stroke: tint, "stroke-width": 1.5 });
      if (bars?.[i] > 0) {
        const [a, b] = [X(t.x[i] - bars[i]), X(t.x[i] + bars[i])], wide = t.error_x.thickness ?? 1.5;
        element("path", g, { d: `M${Math.max(x0 - 9, a)},${y}H${Math.min(x1 + 9, b)}`, stroke: t.error_x.color ?? tint, "stroke-width": wide, opacity: wide > 4 ? 0.3 : 0.9 });
      }
      const mark = this.mark(g, t, i, x, y);
      const value = `${t.name ?? ""} ${t.y[i] && typeof t.y[i] === "string" ? t.y[i] + ": " + short(t.x[i]) : short(+t.y[i])}${bars?.[i] > 0 ? " ± " + short(bars[i]) : ""}`;
      element("title", mark, {}, [value, at(t.text, i)].filter(Boolean).join("\n").replace(/<br>/g, "\n"));
    });
  }
  pointer(s, shared) {
    let from = null;
    const x = event => Math.min(s.x1, Math.max(s.x0, event.offsetX));
    if (s.ax.names || s.traces.some(t => t.type)&& !s.traces.some(t => t.type === "scatter")) return;
    s.svg.onpointermove = event => this.look(s.value(x(event)), s);
    s.svg.onpointerdown = event => { from = x(event); };
    s.svg.onpointerup = event => {
      const [a, b] = [from, x(event)].sort((p, q) => p - q);
      if (from != null && b - a > 12) this.within(Object.assign([s.value(a), s.value(b)], { panel: s.p.x }));
      from = null;
    };
    s.svg.ondblclick = () => this.within(null);
  }
  within(range) { this.zoom = range; this.draw(); }
  // The cursor's place in every panel, and the values of its lines there.
  look(value, only) {
    this.cursor = value;
    const parts = [];
    for (const s of this.shown) {
      if (s !== only && !s.p.ax.matches && !only?.p.ax.matches) { s.line.setAttribute("d", ""); continue; }
      const place = s.px(value);
      s.line.setAttribute("d", `M${place},${s.y0}V${s.y1}`);
      if (s !== only) continue;
      for (const t of s.traces.filter(t => /lines/.test(t.mode ?? "lines") && !t.fill)) {
        let best = 0;
        for (let i = 0; i < t.x.length; i++) if (Math.abs(s.ax.place(t.x[i]) - value) < Math.abs(s.ax.place(t.x[best]) - value)) best = i;
        parts.push(`${t.name ?? ""} ${t.y[best] == null ? "–" : short(t.y[best])}`);
      }
    }
    const x = only?.ax.log ? 10 ** value : value;
    this.readout.textContent = parts.length ? `${only.p.title ? only.p.title.split(":")[0] + " · " : ""}at ${short(+x.toPrecision(4))}: ${parts.join(" · ")}` : "";
  }
  key(event) {
    const s = this.shown.find(s => !s.ax.names);
    if (!s || event.target !== this.chart) return;
    const width = s.ax.high - s.ax.low, here = this.cursor ?? (s.ax.low + s.ax.high) / 2;
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const to = Math.min(s.ax.high, Math.max(s.ax.low, here + (event.key === "ArrowRight" ? 1 : -1) * width / 60));
      this.look(to, s);
    } else if (event.key === "+" || event.key === "=") this.within(Object.assign([here - width / 4, here + width / 4], { panel: s.p.x }));
    else if (event.key === "-" || event.key === "0" || event.key === "Escape") this.within(null);
    else return;
    event.preventDefault();
  }
}
const dash = kind => ({ dot: "2 3", dash: "6 4", dashdot: "6 3 2 3" })[kind] ?? null;

// A view in space: solids, lines and points, the farthest first; turned by dragging or arrow keys.
class Space {
  constructor(chart, data, layout, frames) {
    Object.assign(this, { chart, data, layout, frames, turn: 0.8, tilt: 0.42, near: 1, now: 0, hidden: new Set(data.filter(t => t.visible === "legendonly").map(t => t.name)) });
    if (layout.showlegend !== false) Panels.prototype.legend.call(this);
    this.canvas = element("canvas", chart, { tabindex: 0, "aria-label": "View in space: drag or use the arrow keys to turn it, + and - to zoom" });
    this.canvas.onpointerdown = event => { this.from = [event.clientX, event.clientY]; this.canvas.setPointerCapture(event.pointerId); };
    this.canvas.onpointermove = event => {
      if (!this.from) return;
      this.turn -= (event.clientX - this.from[0]) / 150;
      this.tilt = Math.min(1.5, Math.max(-0.4, this.tilt + (event.clientY - this.from[1]) / 150));
      this.from = [event.clientX, event.clientY];
      this.draw();
    };
    this.canvas.onpointerup = this.canvas.onpointercancel = () => { this.from = null; };
    this.canvas.onkeydown = event => {
      const step = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (step) { this.turn += step[0]; this.tilt += step[1]; } else if (event.key === "+" || event.key === "=") this.near *= 1.15; else if (event.key === "-") this.near /= 1.15; else return;
      event.preventDefault();
      this.draw();
    };
    this.bounds();
    if (frames.length) this.player();
    this.draw();
  }
  colour(t) { return Panels.prototype.colour.call(this, t); }
  sample(svg, t) { element("path", svg, { d: SYMBOLS.square, fill: list(t.color ?? t.colorscale?.[0]?.[1] ?? t.line?.color ?? t.marker?.color)[0], opacity: 0.8 }); }
  mark() {}
  points(t) { const flat = v => (v ?? []).flat(); const [x, y, z] = [flat(t.x), flat(t.y), flat(t.z)]; return x.map((v, i) => [v, y[i], z[i]]); }
  bounds() {
    const range = "xyz".split("").map(a => this.layout.scene?.[a + "axis"]?.range);
    const all = this.data.filter(t => t.visible !== "legendonly").flatMap(t => this.points(t)).filter(p => p.every(v => v != null));
    this.low = [0, 1, 2].map(k => range[k]?.[0] ?? all.reduce((m, p) => Math.min(m, p[k]), Infinity));
    this.high = [0, 1, 2].map(k => range[k]?.[1] ?? all.reduce((m, p) => Math.max(m, p[k]), -Infinity));
    this.centre = this.low.map((v, k) => (v + this.high[k]) / 2);
    this.size = Math.hypot(...this.low.map((v, k) => this.high[k] - v)) || 1;
  }
  player() {
    const bar = element("div", this.chart, { class: "player" });
    const button = element("button", bar, { type: "button" }, "▶ play");
    const slider = element("input", bar, { type: "range", min: 0, max: this.frames.length - 1, value: 0, "aria-label": "time" });
    const label = element("output", bar, {}, this.frames[0].name);
    const wait = this.layout.updatemenus?.[0]?.buttons?.[0]?.args?.[1]?.frame?.duration ?? 60;
    const show = k => {
      this.now = k;
      slider.value = k;
      label.textContent = this.frames[k].name;
      this.frames[k].data.forEach((trace, i) => Object.assign(this.data[this.frames[k].traces?.[i] ?? i], { x: trace.x, y: trace.y, z: trace.z }));
      this.draw();
    };
    slider.oninput = () => show(+slider.value);
    let timer = null;
    button.onclick = () => {
      if (timer) { clearInterval(timer); timer = null; button.textContent = "▶ play"; return; }
      button.textContent = "❚❚ pause";
      timer = setInterval(() => show((this.now + 1) % this.frames.length), wait);
    };
  }
  draw() {
    const width = this.width ?? this.chart.clientWidth, height = Math.min(this.layout.height ?? 480, width), ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    Object.assign(this.canvas.style, { width: width + "px", height: height + "px" });
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    const [c, s, ct, st] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.tilt), Math.sin(this.tilt)], k = this.near * 1.15 * Math.min(width, height * 1.25) / this.size;
    const project = p => {
      const [x, y, z] = p.map((v, i) => v - this.centre[i]), u = -s * x + c * y, w = c * x + s * y;
      return [width / 2 + k * u, height / 2 - k * (ct * z - st * w), ct * w + st * z];
    };
    const items = [];
    const triangle = (corners, colour, opacity, wire) => {
      const [a, b, d] = corners, n = [0, 1, 2].map(i => { const [p, q] = [(i + 1) % 3, (i + 2) % 3]; return (b[p] - a[p]) * (d[q] - a[q]) - (b[q] - a[q]) * (d[p] - a[p]); });
      const light = 0.72 + 0.28 * Math.abs(n[2] * 0.8 + n[0] * c * 0.5 + n[1] * s * 0.5) / (Math.hypot(...n) || 1), at2 = corners.map(project);
      items.push([at2.reduce((m, p) => m + p[2], 0) / corners.length, () => {
        g.globalAlpha = opacity; g.fillStyle = g.strokeStyle = shade(colour, light); g.lineWidth = 0.5;
        g.beginPath(); at2.forEach(p => g.lineTo(p[0], p[1])); g.closePath(); g.fill(); if (wire) g.stroke();
      }]);
    };
    const scaled = (t, values) => { const clean = values.filter(v => v != null), low = Math.min(...clean), high = Math.max(...clean); return v => colourOf(t.colorscale, high > low ? (v - low) / (high - low) : 0); };
    for (const t of this.data) {
      if (this.hidden.has(t.legendgroup || t.name)) continue;
      const points = this.points(t);
      if (t.type === "mesh3d") (t.i ?? []).forEach((i, n) => triangle([points[i], points[t.j[n]], points[t.k[n]]], t.color, t.opacity ?? 1, (t.opacity ?? 1) === 1));
      else if (t.type === "surface") for (let i = 0; i + 1 < t.x.length; i++) for (let j = 0; j + 1 < t.x[0].length; j++) triangle([[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([a, b]) => [t.x[a][b], t.y[a][b], t.z[a][b]]), t.colorscale?.[0]?.[1], t.opacity ?? 0.4);
      else {
        const tint = Array.isArray(t.line?.color) ? scaled(t.line, t.line.color) : null;
        if (/lines/.test(t.mode ?? "lines")) for (let i = 1; i < points.length; i++) {
          if (points[i].includes(null) || points[i - 1].includes(null)) continue;
          const [a, b] = [project(points[i - 1]), project(points[i])];
          items.push([(a[2] + b[2]) / 2, () => { g.globalAlpha = 1; g.strokeStyle = tint ? tint(t.line.color[i]) : t.line?.color ?? "#888"; g.lineWidth = (t.line?.width ?? 2) * 0.8; g.lineCap = "round"; g.beginPath(); g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); g.stroke(); }]);
        }
        if (/markers/.test(t.mode ?? "")) {
          const of = Array.isArray(t.marker?.color) ? scaled(t.marker, t.marker.color) : null;
          points.forEach((p, i) => {
            if (p.includes(null)) return;
            const a = project(p), size = at(t.marker?.size, i) ?? 6, hollow = /open/.test(t.marker?.symbol ?? "");
            items.push([a[2] + 0.02 * this.size, () => {
              g.globalAlpha = t.marker?.opacity ?? 1; g.beginPath();
              if (/diamond/.test(t.marker?.symbol ?? "")) { g.moveTo(a[0], a[1] - size); g.lineTo(a[0] + size, a[1]); g.lineTo(a[0], a[1] + size); g.lineTo(a[0] - size, a[1]); g.closePath(); } else g.arc(a[0], a[1], size * 0.7, 0, 7);
              g.fillStyle = g.strokeStyle = of ? of(t.marker.color[i]) : t.marker?.color ?? "#888"; g.lineWidth = 2; hollow ? g.stroke() : g.fill();
            }]);
          });
        }
      }
    }
    this.floor(g, project);
    items.sort((a, b) => a[0] - b[0]).forEach(item => item[1]());
    g.globalAlpha = 1;
    this.chart.layout.width = this.width;
  }
  // A grid below everything, with lengths in metres.
  floor(g, project) {
    const z = this.low[2], [tx, ty] = [0, 1].map(k => ticks(this.low[k], this.high[k], 5));
    g.strokeStyle = css("--line"); g.fillStyle = css("--soft"); g.font = "11px system-ui,sans-serif"; g.lineWidth = 1; g.globalAlpha = 1;
    const line = (a, b) => { const [p, q] = [project(a), project(b)]; g.beginPath(); g.moveTo(p[0], p[1]); g.lineTo(q[0], q[1]); g.stroke(); };
    const name = (p, text) => { const q = project(p); g.fillText(text, q[0] + 3, q[1] + 12); };
    for (const [x, text] of tx) { line([x, this.low[1], z], [x, this.high[1], z]); name([x, Math.sin(this.turn) > 0 ? this.high[1] : this.low[1], z], `x ${text}`); }
    for (const [y, text] of ty) { line([this.low[0], y, z], [this.high[0], y, z]); name([Math.cos(this.turn) > 0 ? this.high[0] : this.low[0], y, z], `y ${text} m`); }
    const corner = [Math.cos(this.turn) > 0 ? this.low[0] : this.high[0], Math.sin(this.turn) > 0 ? this.low[1] : this.high[1]];
    line([...corner, z], [...corner, this.high[2]]);
    for (const [h, text] of ticks(z, this.high[2], 4)) name([...corner, h], `z ${text}`);
  }
}
function shade(colour, light) {
  const rgb = /^#/.test(colour ?? "") ? [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16)) : (colour ?? "rgb(136,136,136)").match(/[\d.]+/g).map(Number);
  return `rgb(${rgb.slice(0, 3).map(v => Math.round(v * light))})`;
}

const views = new Map();
function show(chart) {
  if (views.has(chart)) return views.get(chart);
  const { data, layout, frames } = chart;
  const solid = data.some(t => /3d$|surface/.test(t.type ?? ""));
  views.set(chart, solid ? new Space(chart, data, layout, frames ?? []) : new Panels(chart, data, layout));
  return views.get(chart);
}
const again = () => views.forEach((view, chart) => { if (chart.offsetParent) view.draw(); });
// What is folded away is drawn when it is opened.
charts.forEach(chart => Object.assign(chart, unpacked(JSON.parse(chart.nextElementSibling.textContent))));
charts.forEach(chart => { if (!chart.closest("details:not([open])")) show(chart); });
document.addEventListener("toggle", event => {
  if (event.target.open) event.target.querySelectorAll(".chart").forEach(chart => { if (!chart.closest("details:not([open])")) show(chart).draw(); });
}, true);
document.body.dataset.charts = `${views.size} of ${charts.length}`;
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; again(); } });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
// A sheet is narrower than most screens, and everything that is folded opens on it.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(d => { d.open = true; });
  charts.forEach(chart => { const view = show(chart); view.width = 690; view.draw(); });
});
addEventListener("afterprint", () => views.forEach(view => { view.width = undefined; view.draw(); }));
