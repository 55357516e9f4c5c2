// Unpacks the chart library that the page carries, and draws every chart in the page's own colours.
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent.trim()), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const library = document.createElement("script");
  library.textContent = await new Response(stream).text();
  document.head.append(library);
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  let drawn = 0;
  const charts = [...document.querySelectorAll(".chart")];
  for (const chart of charts) {
    const { data, layout } = JSON.parse(chart.nextElementSibling.textContent);
    const axis = { gridcolor: colour("--line"), zerolinecolor: colour("--line") };
    for (const key of Object.keys(layout).filter(k => /^[xy]axis/.test(k))) Object.assign(layout[key], axis);
    Object.assign(layout, { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--soft") },
      font: { color: colour("--ink"), family: "system-ui,sans-serif", size: 12 } });
    await Plotly.newPlot(chart, data, layout, { responsive: true, displaylogo: false });
    drawn += chart.querySelector(".plot-container") ? 1 : 0;
  }
  document.body.dataset.charts = `${drawn} of ${charts.length}`;
})();
