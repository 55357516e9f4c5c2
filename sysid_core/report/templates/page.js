// Unpacks the chart library that the page carries, and draws every chart in the page's own colours.
// Panels that stand side by side come one below the other on a phone.
function stack(chart, layout) {
  const panels = Object.keys(layout).filter(k => /^yaxis/.test(k)).map(k => k.slice(5));
  const columns = new Set(panels.map(k => layout["xaxis" + k].domain.join())).size;
  if (columns < 2) return;
  const n = panels.length, gap = 0.3 / n;
  layout.height = Math.round((layout.height - 110) * columns) + 130;
  chart.style.height = layout.height + "px";
  panels.forEach((k, i) => {
    const top = 1 - i / n;
    layout["xaxis" + k].domain = [0, 1];
    layout["yaxis" + k].domain = [top - 1 / n + gap, top];
    if (layout.annotations?.[i]) Object.assign(layout.annotations[i], { x: 0, xanchor: "left", y: top });
  });
}

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const charts = [...document.querySelectorAll(".chart")];

// The page's own colours, which paper and dark screens change.
function colours(layout) {
  const painted = { "font.color": colour("--ink"), "modebar.color": colour("--soft") };
  for (const key of Object.keys(layout).filter(k => /^[xy]axis/.test(k))) {
    painted[key + ".gridcolor"] = painted[key + ".zerolinecolor"] = colour("--line");
  }
  return painted;
}

(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(stream).text();
  document.head.append(library);
  const narrow = innerWidth < 640;
  let drawn = 0;
  for (const chart of charts) {
    const { data, layout, frames } = JSON.parse(chart.nextElementSibling.textContent);
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line") };
    for (const key of Object.keys(layout).filter(k => /^[xy]axis/.test(k))) {
      Object.assign(layout[key], axis, narrow ? { automargin: true } : {});
    }
    Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft") },
      font: { color: colour("--ink"), family: "system-ui,sans-serif", size: narrow ? 10 : 12 } });
    if (narrow && !frames?.length) {  // a phone: names of axes make their own room, legends stand below
      if (layout.yaxis2) stack(chart, layout);
      layout.margin = { ...layout.margin, l: 34, r: 6, t: 30, b: 100 };
      layout.legend = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", x: 0, xanchor: "left" };
      delete layout.hovermode;
    }
    const config = { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover" };
    await Plotly.newPlot(chart, { data, layout, frames: frames ?? [], config });
    drawn += chart.querySelector(".plot-container") ? 1 : 0;
  }
  document.body.dataset.charts = `${drawn} of ${charts.length}`;
})();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
  charts.forEach(chart => Plotly.relayout(chart, colours(chart.layout))));

// A sheet is narrower than most screens, and everything that is folded opens on it.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach(d => { d.open = true; });
  charts.forEach(chart => Plotly.relayout(chart, { ...colours(chart.layout), autosize: false, width: 690,
    height: Math.min(chart.layout.height ?? 420, 930) }));  // one sheet
});
addEventListener("afterprint", () =>
  charts.forEach(chart => Plotly.relayout(chart, { ...colours(chart.layout), autosize: true, width: null })));
