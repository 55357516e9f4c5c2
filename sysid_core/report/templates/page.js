// Draws every chart of the page in its own colours: panels as SVG, views in space on a canvas.
// What a chart is made of: charts/figure.py.
const NS = "http://www.w3.org/2000/svg", charts = [...document.querySelectorAll(".chart")];
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const at = (value, i) => Array.isArray(value) ? value[i] : value;
const element = (tag, parent, attributes = {}, text) => {
  const made = parent.namespaceURI === NS || tag === "svg" ? document.createElementNS(NS, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) if (value != null) made.setAttribute(key, value);
  if (text != null) made.textContent = text;
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

// A scale is colours at equal steps from 0 to 1.
function colourOf(scale, share) {
  const place = Math.min(1, Math.max(0, share)) * (scale.length - 1), k = Math.min(scale.length - 2, Math.floor(place));
  const [p, q] = [scale[k], scale[k + 1]].map(text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16)));
  return `rgb(${p.map((v, i) => Math.round(v + (place - k) * (q[i] - v)))})`;
}

// The panels of a figure that have traces, in reading order.
const panelsOf = (data, layout) => layout.panels.map((p, k) => ({ key: k, title: p.title, ax: p.x, ay: p.y, marks: p.marks, traces: data.filter(t => t.panel === k) })).filter(p => p.traces.length);

function axisOf(layout, values, spread) {
  const names = values.some(v => typeof v === "string");
  const axis = { names: names ? [...new Set([...(layout.names ?? []), ...values.filter(v => v != null)])] : null, log: layout.log, dates: layout.dates, reversed: layout.reversed };
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
  const hours = axis.dates && axis.high - axis.low < 3;  // longer labels, so fewer
  if (axis.dates) return ticks(axis.low, axis.high, hours ? most / 2 : most).map(([v]) => [v, new Date(v * 864e5).toISOString().slice(0, hours ? 16 : 10).replace("T", " ")]);
  if (!axis.log) return ticks(axis.low, axis.high, most);
  const whole = [];
  for (let k = Math.ceil(axis.low); k <= axis.high; k++) whole.push([k, short(10 ** k)]);
  return whole.length > 1 ? whole.filter((_, i) => i % Math.ceil(whole.length / most) === 0) : ticks(axis.low, axis.high, most).map(([v]) => [v, short(10 ** v)]);
}

const SYMBOLS = { circle: "M-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0Z", diamond: "M0,-5L5,0L0,5L-5,0Z", square: "M-4,-4H4V4H-4Z", x: "M-4,-4L4,4M4,-4L-4,4", line: "M0,-7V7" };

class Panels {
  constructor(chart, data, layout) {
    Object.assign(this, { chart, data, layout, hidden: new Set(), zoom: null, cursor: null });
    this.legend();
    const heat = data.find(t => t.type === "heat");
    if (heat) {
      const all = data.filter(t => t.type === "heat").flatMap(t => t.z.flat()).filter(v => v != null), low = heat.low ?? Math.min(...all), high = heat.high ?? Math.max(...all);
      data.forEach(t => { if (t.type === "heat") Object.assign(t, { low, high }); });
      const bar = element("p", chart, { class: "readout soft" }, `${heat.title ?? ""} ${short(low)} `);
      element("span", bar, { class: "scale", style: `background:linear-gradient(90deg,${heat.scale})` });
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
    this.data.forEach(t => { if (t.name && t.legend !== false && !names.has(t.name)) names.set(t.name, t); });
    if (names.size < 2 || this.layout.legend === false) return;
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
  colour(t) { return t.colour === "#000000" ? "var(--ink)" : t.colour ?? at(t.scale, 1) ?? "#0072B2"; }
  sample(svg, t) {
    if (t.type === "bars" || t.type === "heat") element("path", svg, { d: "M-8,-5H8V5H-8Z", fill: this.colour(t) });
    else if (t.type === "dots" && t.wide) element("path", svg, { d: "M-10,0H10", stroke: this.colour(t), "stroke-width": 9, opacity: 0.3 });
    else if (t.type === "dots") this.mark(svg, t, 0, 0);
    else element("path", svg, { d: "M-10,0H10", stroke: this.colour(t), "stroke-width": 2, "stroke-dasharray": dash(t.dash) });
  }
  mark(parent, t, x, y) {
    const symbol = t.symbol ?? "circle", hollow = /open/.test(symbol), colour = this.colour(t);
    return element("path", parent, { d: SYMBOLS[symbol.replace("-open", "")], transform: `translate(${x.toFixed(1)},${y.toFixed(1)}) scale(${(t.size ?? (t.points ? 5 : 7)) / 8})`, fill: hollow ? "none" : colour, stroke: colour, "stroke-width": hollow ? 1.8 : 0.6 });
  }
  draw() {
    const width = this.width ?? this.box.clientWidth, all = panelsOf(this.data, this.layout), columns = this.layout.columns;
    const wide = width > 760, tall = Math.max(110, this.layout.row);
    const beside = !wide ? 1 : columns > 1 ? Math.min(columns, all.length) : all.length > 3 && !all.some(p => p.traces.some(t => typeof t.x[0] === "string")) ? 2 : 1;
    this.box.replaceChildren();
    this.box.style.gridTemplateColumns = `repeat(${beside}, minmax(0, 1fr))`;
    this.shown = all.map((p, i) => {
      const last = i >= all.length - beside;
      return this.panel(p, Math.floor((width - 14 * (beside - 1)) / beside), tall + (this.layout.linked && !last ? 0 : 14), this.layout.linked);
    });
    this.chart.layout.width = this.width;
  }
  panel(p, W, H, shared) {
    const traces = p.traces.filter(t => !this.hidden.has(t.name)), kind = p.traces[0].type;
    const { stacked, flat } = p.traces[0], of = key => p.traces.flatMap(t => t[key] ?? []), xs = of("x"), ys = of("y");
    for (const t of traces.filter(t => t.bars)) (t.upright ? t.y : t.x).forEach((v, i) => { if (t.bars[i] != null) (t.upright ? ys : xs).push(v - t.bars[i], v + t.bars[i]); });
    if (kind === "bars") {
      const sums = {};
      p.traces.forEach(t => (flat ? t.y : t.x).forEach((k, i) => { sums[k] = (stacked ? sums[k] ?? 0 : 0) + (flat ? t.x : t.y)[i]; (flat ? xs : ys).push(sums[k]); }));
      (flat ? xs : ys).push(0);
    }
    for (const m of p.marks) if (m.at.length === 1 || m.axis === "y") (m.axis === "x" ? xs : ys).push(...m.at);
    const bar = kind === "bars", heat = kind === "heat";
    const ax = axisOf(p.ax, xs, bar && !flat || heat ? 0 : bar ? 0.04 : p.traces.some(t => t.type === "dots") ? 0.03 : 0.01), ay = axisOf(p.ay, ys, heat ? 0 : 0.06);
    if (this.zoom && shared && !ax.names) [ax.low, ax.high] = this.zoom;
    else if (this.zoom && !shared && this.zoom.panel === p.key) [ax.low, ax.high] = this.zoom;
    const title = p.title ? 20 : 6, ty = ticksOf(ay, Math.max(2, H / 42)), narrow = W < 500;
    const wordy = ay.names && narrow ? 11 : ay.names ? 12 : 11;
    const left = Math.min(W * 0.46, 12 + (p.ay.title ? 16 : 0) + 0.56 * wordy * Math.max(1, ...ty.map(t => String(t[1]).length)));
    let tx = ticksOf(ax, Math.max(2, (W - left) / 80));
    const turned = ax.names && tx.length * 0.6 * 11 * Math.max(...tx.map(t => String(t[1]).length)) > (W - left);
    const hideX = p.ax.hidden;
    const bottom = hideX ? 6 : (turned ? Math.min(150, 14 + 6 * Math.max(...tx.map(t => String(t[1]).length))) : 20) + (p.ax.title ? 16 : 0);
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
      if (!hideX) element("text", svg, turned ? { transform: `translate(${px(v) + 4},${y0 + 8}) rotate(-60)`, "text-anchor": "end", class: "tick" } : { x: Math.min(px(v), W - 2 - 3.1 * String(text).length), y: y0 + 14, "text-anchor": "middle", class: "tick" }, turned ? String(text).slice(0, 26) : text);
    }
    if (p.title) element("text", svg, { x: narrow ? 2 : x0, y: 13, class: "name" }, narrow ? p.title.slice(0, Math.floor(W / 6.4)) : p.title);
    if (p.ax.title && !hideX) element("text", svg, { x: (x0 + x1) / 2, y: H - 3, "text-anchor": "middle", class: "tick" }, p.ax.title);
    if (p.ay.title) element("text", svg, { transform: `translate(10,${(y0 + y1) / 2}) rotate(-90)`, "text-anchor": "middle", class: "tick" }, p.ay.title);
    element("rect", element("clipPath", element("defs", svg), { id: clip }), { x: x0, y: y1, width: Math.max(0, x1 - x0), height: Math.max(0, y0 - y1) });
    const inside = element("g", svg, { "clip-path": `url(#${clip})` });
    for (const m of p.marks) {
      const raw = v => (m.axis === "x" ? ax : ay).log ? Math.log10(v) : v, [a, b] = m.at.map(v => (m.axis === "x" ? px : py)(raw(v)));
      if (b == null) element("path", inside, { d: m.axis === "x" ? `M${a},${y0}V${y1}` : `M${x0},${a}H${x1}`, stroke: this.colour(m), "stroke-width": 1.4, "stroke-dasharray": "6 4" });
      else element("rect", inside, { ...(m.axis === "x" ? { x: Math.min(a, b), y: y1, width: Math.abs(b - a), height: y0 - y1 } : { x: x0, y: Math.min(a, b), width: x1 - x0, height: Math.abs(b - a) }), fill: m.colour, opacity: 0.09 });
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
    if (t.type === "heat" || t.type === "edge") {
      const { x, y } = t, w = (x1 - x0) / x.length, h = (y0 - y1) / y.length;
      if (t.type === "edge") {  // between two kinds of cells
        let d = "";
        t.z.forEach((row, i) => row.forEach((z, j) => {
          if (j + 1 < row.length && z !== row[j + 1]) d += `M${x0 + (j + 1) * w},${y0 - i * h}v${-h}`;
          if (i + 1 < t.z.length && z !== t.z[i + 1][j]) d += `M${x0 + j * w},${y0 - (i + 1) * h}h${w}`;
        }));
        element("path", g, { d, stroke: colour, "stroke-width": 2, fill: "none" });
        return;
      }
      const range = t.high - t.low, blank = t.low < 0 ? 1e-3 * range : -1;  // zero correlation: paper
      t.z.forEach((row, i) => row.forEach((z, j) => { if (z != null && Math.abs(z) > blank) element("rect", g, { x: ax.names ? X(x[j]) - w / 2 : x0 + j * w, y: ay.names ? Y(y[i]) - h / 2 : y0 - (i + 1) * h, width: w + 0.4, height: h + 0.4, fill: colourOf(t.scale, range > 0 ? (z - t.low) / range : 0) }); }));
      return;
    }
    if (t.type === "bars") {
      const keys = flat ? t.y : t.x, sizes = flat ? t.x : t.y, count = (flat ? ay : ax).names?.length ?? keys.length;
      const room = Math.abs(flat ? y0 - y1 : x1 - x0) / count * 0.8, each = stacked ? room : room / many;
      keys.forEach((key, i) => {
        if (sizes[i] == null) return;
        const base = stacked ? below[key] ?? 0 : 0, end = base + sizes[i];
        below[key] = end;
        const middle = (flat ? Y(key) : X(key)) - room / 2 + (stacked ? 0 : k * each), [from, to] = [base, end].map(flat ? X : Y);
        element("rect", g, flat ? { x: Math.min(from, to), y: middle, width: Math.abs(to - from), height: each, fill: colour } : { x: middle, y: Math.min(from, to), width: each, height: Math.abs(to - from), fill: colour });
        if (flat && t.text) { const beyond = to > x1 - 60; element("text", g, { x: beyond ? to - 5 : to + 5, y: middle + each / 2 + 4, "text-anchor": beyond ? "end" : "start", class: beyond ? "tick on" : "tick" }, t.text[i]); }
      });
      return;
    }
    const points = t.x.map((x, i) => [X(x), Y(t.y[i])]);
    if (t.type === "line") {
      let d = "", open = false;
      for (const [x, y] of points) {
        const here = isFinite(x) && isFinite(y);
        if (here) d += (open ? "L" : "M") + x.toFixed(1) + "," + y.toFixed(1);
        open = here;
      }
      element("path", g, { d, fill: "none", stroke: colour, "stroke-width": t.width ?? 1.4, "stroke-dasharray": dash(t.dash), "stroke-linejoin": "round" });
      if (!t.points) return;
    }
    points.forEach(([x, y], i) => {
      if (!isFinite(y) || t.x[i] == null) return;
      const half = t.bars?.[i];
      if (half > 0 && t.upright) element("path", g, { d: `M${x},${Y(t.y[i] - half)}V${Y(t.y[i] + half)}`, stroke: colour, "stroke-width": 1.5 });
      else if (half > 0) element("path", g, { d: `M${Math.max(x0 - 9, X(t.x[i] - half))},${y}H${Math.min(x1 + 9, X(t.x[i] + half))}`, stroke: colour, "stroke-width": t.wide ? 9 : 1.6, opacity: t.wide ? 0.3 : 0.9 });
      if (half > 0 && !t.upright) for (const [edge, end, inwards] of [[x0, X(t.x[i] - half), 1], [x1, X(t.x[i] + half), -1]]) if (inwards * (edge - end) > 1) element("path", g, { d: `M${edge},${y}l${7 * inwards},-4v8Z`, fill: colour, class: "beyond" });
      const named = typeof t.y[i] === "string", value = `${t.name} ${named ? t.y[i] + ": " + short(t.x[i]) : short(+t.y[i])}${half > 0 ? " ± " + short(half) : ""}`;
      element("title", this.mark(g, t, x, y), {}, [value, t.text?.[i]].filter(Boolean).join("\n"));
    });
  }
  pointer(s, shared) {
    let from = null;
    const x = event => Math.min(s.x1, Math.max(s.x0, event.offsetX));
    if (s.ax.names || !s.traces.some(t => t.type === "line")) return;
    s.svg.onpointermove = event => this.look(s.value(x(event)), s);
    s.svg.onpointerdown = event => { from = x(event); };
    s.svg.onpointerup = event => {
      const [a, b] = [from, x(event)].sort((p, q) => p - q);
      if (from != null && b - a > 12) this.within(Object.assign([s.value(a), s.value(b)], { panel: s.p.key }));
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
      if (s !== only && !this.layout.linked) { s.line.setAttribute("d", ""); continue; }
      const place = s.px(value);
      s.line.setAttribute("d", `M${place},${s.y0}V${s.y1}`);
      if (s !== only) continue;
      for (const t of s.traces.filter(t => t.type === "line")) {
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
    } else if (event.key === "+" || event.key === "=") this.within(Object.assign([here - width / 4, here + width / 4], { panel: s.p.key }));
    else if (event.key === "-" || event.key === "0" || event.key === "Escape") this.within(null);
    else return;
    event.preventDefault();
  }
}
const dash = kind => ({ dot: "2 3", dash: "6 4" })[kind] ?? null;

// A view in space: solids, lines and points, the farthest first; turned by dragging or arrow keys.
class Space {
  constructor(chart, data, layout, frames) {
    Object.assign(this, { chart, data, layout, frames, turn: 0.8, tilt: 0.42, near: 1, now: 0, hidden: new Set(data.filter(t => t.hidden).map(t => t.name)) });
    Panels.prototype.legend.call(this);
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
  sample(svg, t) { element("path", svg, { d: SYMBOLS.square, fill: t.colour ?? at(t.scale, 1), opacity: 0.8 }); }
  points(t) { const flat = v => (v ?? []).flat(); const [x, y, z] = [flat(t.x), flat(t.y), flat(t.z)]; return x.map((v, i) => [v, y[i], z[i]]); }
  bounds() {
    const all = this.data.filter(t => !t.hidden).flatMap(t => this.points(t)).filter(p => p.every(v => v != null));
    this.low = [0, 1, 2].map(k => this.layout.low?.[k] ?? all.reduce((m, p) => Math.min(m, p[k]), Infinity));
    this.high = [0, 1, 2].map(k => this.layout.high?.[k] ?? all.reduce((m, p) => Math.max(m, p[k]), -Infinity));
    this.centre = this.low.map((v, k) => (v + this.high[k]) / 2);
    this.size = Math.hypot(...this.low.map((v, k) => this.high[k] - v)) || 1;
  }
  player() {
    const bar = element("div", this.chart, { class: "player" });
    const button = element("button", bar, { type: "button" }, "▶ play");
    const slider = element("input", bar, { type: "range", min: 0, max: this.frames.length - 1, value: 0, "aria-label": "time" });
    const label = element("output", bar, {}, this.frames[0].name);
    const wait = this.layout.step;
    const show = k => {
      this.now = k;
      slider.value = k;
      label.textContent = this.frames[k].name;
      this.frames[k].data.forEach((trace, i) => Object.assign(this.data[i], trace));
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
    const width = this.width ?? this.chart.clientWidth, height = Math.min(this.layout.row, width), ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    Object.assign(this.canvas.style, { width: width + "px", height: height + "px" });
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    const [c, s, ct, st] = [Math.cos(this.turn), Math.sin(this.turn), Math.cos(this.tilt), Math.sin(this.tilt)], k = this.near * this.fit(width - 90, height - 50, ct, Math.abs(st));
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
    for (const t of this.data) {
      if (this.hidden.has(t.name)) continue;
      const points = this.points(t);
      if (t.type === "solid3d") t.i.forEach((i, n) => triangle([points[i], points[t.j[n]], points[t.k[n]]], t.colour, t.opacity, t.opacity === 1));
      else if (t.type === "surface") for (let i = 0; i + 1 < t.x.length; i++) for (let j = 0; j + 1 < t.x[0].length; j++) triangle([[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([a, b]) => [t.x[a][b], t.y[a][b], t.z[a][b]]), t.colour, t.opacity);
      else {
        const some = t.colours?.filter(v => v != null) ?? [], low = Math.min(...some), high = Math.max(...some);
        const tint = i => t.colours ? colourOf(t.scale, high > low ? (t.colours[i] - low) / (high - low) : 0) : t.colour;
        if (/lines/.test(t.mode)) for (let i = 1; i < points.length; i++) {
          if (points[i].includes(null) || points[i - 1].includes(null)) continue;
          const [a, b] = [project(points[i - 1]), project(points[i])];
          items.push([(a[2] + b[2]) / 2, () => { g.globalAlpha = 1; g.strokeStyle = tint(i); g.lineWidth = t.width * 0.8; g.lineCap = "round"; g.beginPath(); g.moveTo(a[0], a[1]); g.lineTo(b[0], b[1]); g.stroke(); }]);
        }
        if (t.mode !== "lines") points.forEach((p, i) => {
          if (p.includes(null)) return;
          const a = project(p), size = at(t.size, i), hollow = /open/.test(t.symbol);
          items.push([a[2] + 0.02 * this.size, () => {
            g.globalAlpha = t.opacity ?? 1; g.beginPath();
            if (t.symbol === "diamond") { g.moveTo(a[0], a[1] - size); g.lineTo(a[0] + size, a[1]); g.lineTo(a[0], a[1] + size); g.lineTo(a[0] - size, a[1]); g.closePath(); } else g.arc(a[0], a[1], size * 0.7, 0, 7);
            g.fillStyle = g.strokeStyle = tint(i); g.lineWidth = 2; hollow ? g.stroke() : g.fill();
          }]);
        });
      }
    }
    this.floor(g, project);
    items.sort((a, b) => a[0] - b[0]).forEach(item => item[1]());
    g.globalAlpha = 1;
    this.chart.layout.width = this.width;
  }
  // Pixels per metre at which the box around everything fits, however it is turned.
  fit(width, height, ct, st) {
    const [dx, dy, dz] = this.low.map((v, k) => this.high[k] - v), flat = Math.hypot(dx, dy);
    return Math.min(width / (flat || this.size), height / (st * flat + ct * dz || this.size));
  }
  // A grid below everything, with lengths in metres.
  floor(g, project) {
    const z = this.low[2], end = k => project(this.low.map((v, i) => i === k ? this.high[i] : v)), start = project(this.low);
    const [tx, ty, tz] = [0, 1, 2].map(k => ticks(this.low[k], this.high[k], Math.min(5, Math.hypot(end(k)[0] - start[0], end(k)[1] - start[1]) / 50)));
    g.strokeStyle = css("--line"); g.fillStyle = css("--soft"); g.font = "11px system-ui,sans-serif"; g.lineWidth = 1; g.globalAlpha = 1;
    const line = (a, b) => { const [p, q] = [project(a), project(b)]; g.beginPath(); g.moveTo(p[0], p[1]); g.lineTo(q[0], q[1]); g.stroke(); };
    const name = (p, text) => { const q = project(p); g.fillText(text, q[0] + 3, q[1] + 12); };
    for (const [x, text] of tx) { line([x, this.low[1], z], [x, this.high[1], z]); name([x, Math.sin(this.turn) > 0 ? this.high[1] : this.low[1], z], `x ${text}`); }
    for (const [y, text] of ty) { line([this.low[0], y, z], [this.high[0], y, z]); name([Math.cos(this.turn) > 0 ? this.high[0] : this.low[0], y, z], `y ${text} m`); }
    const corner = [Math.cos(this.turn) > 0 ? this.low[0] : this.high[0], Math.sin(this.turn) > 0 ? this.low[1] : this.high[1]];
    line([...corner, z], [...corner, this.high[2]]);
    for (const [h, text] of tz) name([...corner, h], `z ${text}`);
  }
}
const shade = (colour, light) => `rgb(${[1, 3, 5].map(i => Math.round(parseInt(colour.slice(i, i + 2), 16) * light))})`;

const views = new Map();
function show(chart) {
  if (views.has(chart)) return views.get(chart);
  const { data, layout, frames } = chart;
  const solid = data.some(t => /3d$|surface/.test(t.type));
  views.set(chart, solid ? new Space(chart, data, layout, frames ?? []) : new Panels(chart, data, layout));
  return views.get(chart);
}
const again = () => views.forEach((view, chart) => { if (chart.offsetParent) view.draw(); });
// What is folded away is drawn when it is opened.
charts.forEach(chart => Object.assign(chart, unpacked(JSON.parse(chart.nextElementSibling.textContent))));
charts.forEach(chart => { if (!chart.closest("details:not([open])")) show(chart); });
if (innerWidth < 600) document.querySelectorAll("details[open]").forEach(d => { if (d.getBoundingClientRect().bottom + scrollY > 5 * innerHeight) d.open = false; });
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
