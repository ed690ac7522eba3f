/* Plots of an rtassay report. The data are in #data (see series.py); everything they show is in the tables too. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const lanes = data.labels.length;
  const shown = data.labels.map(() => true);
  const plots = [];
  const timePlots = [];
  const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (lane) => css("--c" + (lane % 8));
  const dash = (lane) => DASHES[Math.floor(lane / 8) % DASHES.length];
  const make = (tag, text) => { const e = document.createElement(tag); if (text) e.textContent = text; return e; };
  const us = (ns) => ns / 1000;
  const number = (v) => v.toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const raised = (power) => String(power).replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
  /* Counts on an axis: 50,000, 10⁶, 2·10⁹. */
  const short = (v) => {
    if (v < 1e6) return number(v);
    const power = Math.floor(Math.log10(v) + 1e-9), times = +(v / Math.pow(10, power)).toPrecision(4);
    return (times === 1 ? "" : times + "·") + "10" + raised(power);
  };
  const micro = (v) => v.toLocaleString("en-US", { maximumFractionDigits: v < 100 ? 2 : 1 }) + " us";
  const chance = (p) => (p >= 0.01 ? String(+p.toPrecision(2)) : p.toExponential(1).replace(".0e", "e"));

  const undelta = (steps) => { let at = 0; return steps.map((d) => (at += d)); };
  const unrun = (pairs) => { const out = []; for (let i = 0; i < pairs.length; i += 2) for (let j = 0; j < pairs[i + 1]; j++) out.push(pairs[i]); return out; };
  const union = (lists) => [...new Set(lists.flat())].sort((a, b) => a - b);

  /* ---- one chart: uPlot with our axes, zoom by drag, wheel and keys, a text readout ---- */

  /* Ticks, each with a grid line and a label: 1, 2, 5 of each power of ten where there is room, else powers alone, and even steps where an
     axis spans too little for two of them. */
  const STEPS = [1, 2, 5, 10];
  function even(min, max, most) {
    const rough = (max - min) / Math.max(most, 2), power = Math.pow(10, Math.floor(Math.log10(rough)));
    const size = power * STEPS.find((m) => m * power >= rough * 0.999);
    const first = Math.ceil(min / size - 1e-9), last = Math.floor(max / size + 1e-9);
    if (last <= first) return even(min, max, 2 * Math.max(most, 2));
    return Array.from({ length: last - first + 1 }, (_, i) => +((first + i) * size).toPrecision(12));
  }
  function logTicks(u, i, min, max) {
    const space = i === 0 ? 60 : 24, size = Math.max((i === 0 ? u.bbox.width : u.bbox.height) / uPlot.pxRatio || 0, 2 * space);
    const decade = size / Math.log10(max / min), first = Math.floor(Math.log10(min)), last = Math.ceil(Math.log10(max));
    const every = decade * Math.log10(2) >= space ? 0 : Math.ceil(space / decade);
    const ticks = [];
    for (let power = first; power <= last; power++) {
      if (every && power % every) continue;
      for (const m of every ? [1] : [1, 2, 5]) ticks.push(+`${m}e${power}`);
    }
    const inside = ticks.filter((v) => v >= min * (1 - 1e-9) && v <= max * (1 + 1e-9));
    return inside.length > 1 ? inside : even(min, max, size / space);
  }

  function axis(label, extra) {
    return Object.assign({ label, labelSize: 20, labelGap: 0, stroke: css("--soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
      grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--line"), width: 1, size: 4 }, gap: 3 }, extra);
  }
  const logAxis = (label, extra) => axis(label, Object.assign({ splits: logTicks, filter: (u, splits) => splits }, extra));

  function chart(host, options, values, readout) {
    const plot = new uPlot(Object.assign({
      width: Math.max(host.clientWidth, 240), legend: { show: false }, padding: [10, 24, 0, 0],
      cursor: { drag: { x: true, y: false }, points: { show: false }, sync: options.sync }, }, options,
      { hooks: Object.assign({ setCursor: [(u) => { readout.textContent = u.cursor.idx == null ? "" : options.say(u, u.cursor.idx); }] }, options.hooks) }), values, host);
    const entry = { plot, host, x: [values[0][0], values[0][values[0].length - 1]], visible: options.visible };
    plots.push(entry);
    return entry;
  }

  function setX(entry, low, high) {
    const [first, last] = entry.x;
    const log = entry.plot.scales.x.distr === 3;
    if (low < first) { high = log ? high * first / low : high + first - low; low = first; }
    if (high > last) { low = log ? low * last / high : low + last - high; high = last; }
    entry.plot.setScale("x", { min: Math.max(low, first), max: Math.min(high, last) });
  }

  function zoom(entry, factor, centre) {
    const { min, max, distr } = entry.plot.scales.x;
    const to = distr === 3 ? Math.log : (v) => v;
    const from = distr === 3 ? Math.exp : (v) => v;
    const at = centre == null ? (to(min) + to(max)) / 2 : to(centre);
    setX(entry, from(at - (at - to(min)) * factor), from(at + (to(max) - at) * factor));
  }

  function move(entry, share) {
    const { min, max, distr } = entry.plot.scales.x;
    if (distr === 3) setX(entry, min * Math.pow(max / min, share), max * Math.pow(max / min, share));
    else setX(entry, min + (max - min) * share, max + (max - min) * share);
  }

  /* Listeners live on the host, which survives rebuilding; the current entry is looked up. */
  function listen(host, entryOf) {
    host.addEventListener("wheel", (event) => {
      const entry = entryOf();
      if (!entry || !(event.ctrlKey || document.activeElement === host)) return;  // a page that scrolls past must not zoom
      event.preventDefault();
      const box = entry.plot.over.getBoundingClientRect();
      zoom(entry, event.deltaY < 0 ? 0.8 : 1.25, entry.plot.posToVal(event.clientX - box.left, "x"));
    }, { passive: false });
    host.addEventListener("mousedown", () => host.focus({ preventScroll: true }));
    host.addEventListener("keydown", (event) => {
      const entry = entryOf();
      const acts = { "+": () => zoom(entry, 0.7), "=": () => zoom(entry, 0.7), "-": () => zoom(entry, 1.43), "0": () => setX(entry, ...entry.x),
        ArrowLeft: () => move(entry, -0.1), ArrowRight: () => move(entry, 0.1), Escape: () => host.blur() };
      if (!entry || !acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      acts[event.key]();
    });
  }

  /* A dashed line across the plot with its name, in canvas pixels. `above`: the value of a line close above, whose dashes would strike the name through. */
  function rule(u, scale, value, text, stroke, slot, above) {
    const { min, max } = u.scales[scale];
    if (value == null || value < min || value > max) return;
    const ctx = u.ctx, px = uPlot.pxRatio, box = u.bbox, pos = u.valToPos(value, scale, true);
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = stroke;
    ctx.lineWidth = 1.5 * px;
    ctx.setLineDash([5 * px, 4 * px]);
    ctx.beginPath();
    ctx.font = `600 ${12 * px}px system-ui, sans-serif`;
    const say = (x, y) => { ctx.setLineDash([]); ctx.lineWidth = 3 * px; ctx.lineJoin = "round"; ctx.strokeStyle = css("--bg"); ctx.strokeText(text, x, y); ctx.fillText(text, x, y); };
    if (scale === "x") {
      ctx.moveTo(pos, box.top); ctx.lineTo(pos, box.top + box.height); ctx.stroke();
      const left = pos + ctx.measureText(text).width + 8 * px > box.left + box.width;
      ctx.textAlign = left ? "right" : "left";
      say(pos + (left ? -5 : 5) * px, box.top + (13 + 15 * (slot || 0)) * px);
    } else {
      ctx.moveTo(box.left, pos); ctx.lineTo(box.left + box.width, pos); ctx.stroke();
      ctx.textAlign = slot ? "right" : "left";
      const lift = slot && box.width < 500 * px ? 22 : 6;  // on a narrow page the two names would meet
      const gap = above == null ? Infinity : pos - u.valToPos(above, scale, true);
      const under = gap > 0 && gap < 24 * px && pos + 18 * px < box.top + box.height;
      say(slot ? box.left + box.width - 5 * px : box.left + 5 * px, under ? pos + 15 * px : pos - lift * px);
    }
    ctx.restore();
  }

  /* Other values of x worth a line: where two groups of a comparison change places. */
  const rules = (u) => (data.rules || []).forEach((r) => rule(u, "x", us(r.ns), r.text, css("--link"), 1));
  const deadlineText = () => "deadline " + micro(us(data.deadline_ns));
  const xScale = (log) => ({ time: false, distr: log ? 3 : 1, range: (u, low, high) => [low, high] });
  const xAxis = (log) => (log ? logAxis : axis)("Latency (us)", { size: 32, values: (u, splits) => splits.map((v) => (v == null ? "" : number(v))) });

  /* The worst wake-ups as triangles on the x axis, in the colour of their lane. */
  function triangles(u) {
    const ctx = u.ctx, px = uPlot.pxRatio, box = u.bbox, base = box.top + box.height;
    ctx.save();
    ctx.strokeStyle = css("--bg"); ctx.lineWidth = px;
    for (const [, ns, lane] of data.worst || []) {
      const x = u.valToPos(us(ns), "x", true);
      if (!shown[lane] || x < box.left || x > box.left + box.width) continue;
      ctx.fillStyle = colour(lane);
      ctx.beginPath(); ctx.moveTo(x, base); ctx.lineTo(x - 5 * px, base - 10 * px); ctx.lineTo(x + 5 * px, base - 10 * px); ctx.closePath();
      ctx.fill(); ctx.stroke();
    }
    ctx.restore();
  }

  /* ---- latency plot ---- */

  function histogram(host, readout, log) {
    const floor = 0.3;
    const bins = data.histogram.map((h) => {
      const x = undelta(h.x), w = unrun(h.w);
      return { x, end: x.map((v, i) => v + w[i]), n: h.n };
    });
    const limits = data.limit_ns.filter((v, i) => v != null && data.over[i]);
    let x = union(bins.flatMap((b) => [b.x, b.end]).concat([limits, data.deadline_ns && data.deadline_ns < 50 * data.typical_ns ? [data.deadline_ns] : []]));
    x = log ? union([x.map((v) => Math.max(v, 100))]) : x;
    if (!x.length) return null;
    const margin = log ? Math.pow(x[x.length - 1] / x[0], 0.02) : 1;
    x.push(log ? x[x.length - 1] * margin : x[x.length - 1] + 0.02 * (x[x.length - 1] - x[0]));
    const series = bins.map((b) => {
      let i = 0;
      return x.map((v) => {
        while (i < b.x.length && b.end[i] <= v) i++;
        return i < b.x.length && Math.max(b.x[i], log ? 100 : -Infinity) <= v ? b.n[i] : floor / 10;
      });
    });
    const top = series.reduce((most, s) => s.reduce((a, v) => Math.max(a, v), most), 1);
    const fromNs = x.map(us);
    return chart(host, {
      height: 380,
      scales: { x: xScale(log), y: { distr: 3, range: [floor, Math.pow(10, Math.ceil(Math.log10(top * 1.5)))] } },
      axes: [xAxis(log), logAxis("Samples per bin", { size: 58, values: (u, splits) => splits.map((v) => (v == null || v < 1 ? "" : short(v))) })],
      series: [{}].concat(series.map((_, lane) => ({ stroke: colour(lane), width: 1.4, dash: dash(lane), points: { show: false }, show: shown[lane],
        paths: uPlot.paths.stepped({ align: 1 }) }))),
      visible: (lane) => [lane + 1],
      hooks: { draw: [(u) => {
        rule(u, "x", data.deadline_ns == null ? null : us(data.deadline_ns), data.deadline_ns == null ? "" : deadlineText(), css("--bad"), 0);
        rules(u);
        triangles(u);
        const beyond = data.over.reduce((a, b) => a + b, 0);
        if (beyond && limits.length) rule(u, "x", us(Math.max(...limits)), number(beyond) + " beyond the last bin", css("--open"), 1);
      }] },
      say: (u, i) => micro(fromNs[i]) + ": " + data.labels.map((name, lane) => [name, series[lane][i]]).filter(([, v], lane) => shown[lane] && v >= 1)
        .map(([name, v]) => `${name} ${v.toLocaleString("en-US")}`).join(" · "),
    }, [fromNs, ...series], readout);
  }

  /* ---- exceedance probability ---- */

  function exceedance(host, readout, log) {
    const lines = data.curves.map((c) => ({ x: undelta(c.x), k: c.k, n: c.n, lo: c.lo, hi: c.hi }));
    let x = union(lines.map((c) => c.x));
    if (log) x = x.filter((v) => v >= 100);
    if (!x.length) return null;
    const limits = data.limit_ns.filter((v, i) => v != null && data.over[i]);
    const last = Math.max(x[x.length - 1], ...limits, data.deadline_ns && data.deadline_ns < 50 * data.typical_ns ? data.deadline_ns : 0);
    x.push(last + Math.max(1, log ? last * 0.06 : 0.03 * (last - x[0])));
    /* P(L >= x) is constant from just above one value to the next: look up the next value at or above x. */
    const at = (c, values, end) => { let i = 0; return x.map((v) => { while (i < c.x.length && c.x[i] < v) i++; return i < c.x.length ? values[i] : end; }); };
    const share = lines.map((c, lane) => at(c, c.k.map((k) => k / c.n), data.over[lane] ? data.over[lane] / c.n : null));
    const judged = lines[data.judged];
    const n = judged ? judged.n : 1;
    const floor = Math.pow(10, Math.floor(Math.log10(Math.min(0.5 / n, (data.p_target || 1) * 0.7))));
    const band = judged && judged.lo ? [at(judged, judged.hi, data.over[data.judged] ? null : 1 - Math.pow(0.025, 1 / n)),
      at(judged, judged.lo, null).map((v) => Math.max(v == null ? 0 : v, floor / 10))] : [];
    const step = uPlot.paths.stepped({ align: -1 });
    const fromNs = x.map(us);
    return chart(host, {
      height: 360,
      scales: { x: xScale(log), y: { distr: 3, range: [floor, 1.3] } },
      axes: [xAxis(log), logAxis("P(latency ≥ x)", { size: 58, values: (u, splits) => splits.map((v) => (v == null ? "" : chance(v))) })],
      series: [{}].concat(share.map((_, lane) => ({ stroke: colour(lane), width: 1.6, dash: dash(lane), points: { show: false }, show: shown[lane], paths: step })),
        band.map(() => ({ stroke: "transparent", width: 0, points: { show: false }, paths: step, show: shown[data.judged] }))),
      bands: band.length ? [{ series: [lanes + 1, lanes + 2], fill: colour(data.judged) + "2e" }] : [],
      visible: (lane) => (lane === data.judged && band.length ? [lane + 1, lanes + 1, lanes + 2] : [lane + 1]),
      hooks: { draw: [(u) => {
        rule(u, "x", data.deadline_ns == null ? null : us(data.deadline_ns), data.deadline_ns == null ? "" : deadlineText(), css("--bad"), 0);
        rules(u);
        rule(u, "y", 1 / n, `1/n of ${data.labels[data.judged]}, n = ${n.toLocaleString("en-US")}`, css("--soft"), 0, data.p_target);
        rule(u, "y", data.p_target, data.p_target == null ? "" : "required p " + chance(data.p_target), css("--bad"), 1);
      }] },
      say: (u, i) => micro(fromNs[i]) + ": " + data.labels.map((name, lane) => [name, share[lane][i], lane]).filter(([, v, lane]) => shown[lane] && v != null)
        .map(([name, v]) => `${name} ${chance(v)}`).join(" · ") + (band.length && shown[data.judged] && band[0][i] != null
        ? ` · 95 % band of ${data.labels[data.judged]} ${band[1][i] < floor ? "0" : chance(band[1][i])} to ${chance(band[0][i])}` : ""),
    }, [fromNs, ...share, ...band], readout);
  }

  /* ---- over time ---- */

  let spanSeconds = 0;
  const INCREMENTS = [0.001, 0.01, 0.1, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
  const clock = (s) => (spanSeconds > 7200 ? +(s / 3600).toFixed(3) + " h" : spanSeconds > 300 ? +(s / 60).toFixed(2) + " min" : +s.toFixed(3) + " s");
  const timeAxis = (label) => axis(label ? "Time since start" : "", { size: 26, labelSize: label ? 20 : 0, incrs: INCREMENTS, values: (u, splits) => splits.map(clock) });
  const zoomTogether = (u, key) => {
    if (key !== "x") return;
    const { min, max } = u.scales.x;
    for (const other of timePlots) {
      const s = other.plot.scales.x;
      if (other.plot !== u && (s.min !== min || s.max !== max)) other.plot.setScale("x", { min, max });
    }
  };
  const timeOptions = () => ({ sync: { key: "time", setSeries: false, scales: ["x", null] } });
  const timeHooks = (extra) => Object.assign({ setScale: [zoomTogether] }, extra);

  function dots(u) {
    const ctx = u.ctx, px = uPlot.pxRatio, box = u.bbox;
    ctx.save();
    ctx.beginPath(); ctx.rect(box.left, box.top, box.width, box.height); ctx.clip();
    data.marks.forEach((m, lane) => {
      if (!shown[lane]) return;
      ctx.fillStyle = colour(lane); ctx.strokeStyle = css("--bg"); ctx.lineWidth = px;
      m.t.forEach((t, i) => {
        const x = u.valToPos(t / 1000, "x", true), y = u.valToPos(us(m.v[i]), "y", true), r = (m.m[i] ? 4 : 2.8) * px;
        ctx.beginPath(); ctx.arc(x, y, r, 0, 7); ctx.fill(); ctx.stroke();
      });
    });
    ctx.restore();
  }

  function overTime(host, readout, strips) {
    const { step, lanes: rows } = data.time;
    const size = Math.max(...rows.map((r) => r.max.length));
    const t = Array.from({ length: size + 1 }, (_, i) => i * step);
    spanSeconds = size * step;
    const hold = (list, f) => t.map((_, i) => { const v = list[Math.min(i, size - 1)]; return v == null ? null : f(v); });
    const series = rows.flatMap((r) => [hold(r.max, us), hold(r.min, (v) => Math.max(us(v), 0.1))]);
    const values = series.flat().filter((v) => v != null);
    const low = values.reduce((a, v) => Math.min(a, v), Infinity);
    const high = Math.max(values.reduce((a, v) => Math.max(a, v), 0), data.deadline_ns && data.deadline_ns < 50 * data.typical_ns ? us(data.deadline_ns) : 0);
    const path = uPlot.paths.stepped({ align: 1 });
    timePlots.length = 0;
    timePlots.push(chart(host, Object.assign(timeOptions(), {
      height: 320,
      scales: { x: xScale(false), y: { distr: 3, range: [low / 1.3, high * 1.6] } },
      axes: [timeAxis(!strips), logAxis("Latency (us)", { size: 58, values: (u, splits) => splits.map((v) => (v == null ? "" : number(v))) })],
      series: [{}].concat(series.map((_, i) => ({ stroke: colour(i >> 1) + (i % 2 ? "66" : ""), width: i % 2 ? 0.8 : 1.2, dash: dash(i >> 1), points: { show: false },
        paths: path, show: shown[i >> 1] }))),
      bands: rows.map((_, lane) => ({ series: [2 * lane + 1, 2 * lane + 2], fill: colour(lane) + "12" })),
      visible: (lane) => [2 * lane + 1, 2 * lane + 2],
      hooks: timeHooks({ draw: [worst, dots, (u) => rule(u, "y", data.deadline_ns == null ? null : us(data.deadline_ns), data.deadline_ns == null ? "" : deadlineText(), css("--bad"), 0)] }),
      say: (u, i) => clock(t[i]) + ": " + rows.map((r, lane) => [lane, r.min[i], r.max[i]]).filter(([lane, , v]) => shown[lane] && v != null)
        .map(([lane, a, b]) => `${data.labels[lane]} ${number(us(a))} to ${micro(us(b))}`).join(" · "),
    }), [t, ...series], readout));
    jump(timePlots[timePlots.length - 1].plot);
  }

  /* A click near a late wake-up of the traced part opens its owners. */
  function jump(u) {
    const near = 14;
    u.over.addEventListener("click", (event) => {
      const box = u.over.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
      let best = null, least = near * near;
      for (const [at, ns, id] of data.hits) {
        const dx = u.valToPos(at, "x") - x, dy = u.valToPos(us(ns), "y") - y, far = dx * dx + dy * dy;
        if (far < least) { best = id; least = far; }
      }
      const hit = best && document.getElementById(best);
      if (!hit) return;
      for (const other of document.querySelectorAll(".hit.found")) other.classList.remove("found");
      hit.open = true; hit.classList.add("found"); hit.scrollIntoView({ block: "start" });
    });
  }

  /* The owners of one late wake-up, zoomed as the charts are: parts are stretched, marks and ticks are placed anew. */
  function owners(host) {
    const drawing = host.querySelector("svg"), wide = 960, most = +drawing.dataset.us, ticks = drawing.querySelector(".ticks");
    const tick = ticks.firstElementChild, x = { min: 0, max: most };
    const place = (us) => (us - x.min) / (x.max - x.min) * wide;
    const inside = (at) => at >= -0.1 && at <= wide + 0.1;
    const plot = { scales: { x }, setScale: (key, to) => { Object.assign(x, to); redraw(); },
      posToVal: (pixel) => x.min + (pixel * drawing.viewBox.baseVal.width / drawing.getBoundingClientRect().width + drawing.viewBox.baseVal.x) / wide * (x.max - x.min) };
    const entry = { plot, x: [0, most] };
    function redraw() {
      const k = most / (x.max - x.min);
      drawing.querySelector(".parts").setAttribute("transform", `scale(${k} 1) translate(${-x.min / most * wide} 0)`);
      let last = -Infinity;
      for (const mark of drawing.querySelectorAll(".phases > g")) {
        const at = place(+mark.dataset.x / wide * most), seen = inside(at);
        mark.setAttribute("transform", `translate(${at} 0)`);
        mark.style.display = seen ? "" : "none";
        mark.querySelector("text").toggleAttribute("hidden", at - last < 16);
        if (seen && at - last >= 16) last = at;
      }
      ticks.replaceChildren(...even(x.min, x.max, 10).map((us) => {
        const mark = tick.cloneNode(true);
        mark.setAttribute("transform", `translate(${place(us)} 0)`);
        mark.querySelector("text").textContent = String(us);
        return mark;
      }));
    }
    plot.over = drawing;
    let from = null;
    const at = (event) => plot.posToVal(event.clientX - drawing.getBoundingClientRect().left);
    drawing.addEventListener("mousedown", (event) => { from = at(event); event.preventDefault(); });
    drawing.addEventListener("mouseup", (event) => {
      const [low, high] = [from, at(event)].sort((a, b) => a - b);
      if (from != null && high - low > (x.max - x.min) / 100) setX(entry, low, high);
      from = null;
    });
    drawing.addEventListener("dblclick", () => setX(entry, 0, most));
    listen(host, () => entry);
  }

  /* Telemetry of a lane's CPU has that lane's colour, a second quantity of it dashes; what belongs to no lane is grey, then the rest. */
  function looksOf(names) {
    const used = {};
    let free = lanes;
    return names.map((name) => {
      const cpu = /cpu(\d+)/i.exec(name), exact = data.labels.indexOf(name), lane = exact >= 0 ? exact : cpu ? data.labels.indexOf("CPU" + cpu[1]) : -1;
      const key = lane >= 0 ? lane : cpu || used.grey > 2 ? free++ : "grey";
      used[key] = (used[key] || 0) + 1;
      return [key === "grey" ? "--soft" : "--c" + (key % 8), DASHES[(used[key] - 1 + (key === "grey" ? 0 : Math.floor(key / 8))) % DASHES.length]];
    });
  }

  function swatch(variable, dashes) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 22 6"); svg.setAttribute("aria-hidden", "true");
    line.setAttribute("d", "M0 3h22"); line.setAttribute("stroke-width", "3");
    line.style.stroke = `var(${variable})`;
    line.setAttribute("stroke-dasharray", dashes.join(" "));
    svg.append(line);
    return svg;
  }

  /* The worst wake-ups as thin upright lines through every strip: what happened at that moment stands under the latency. */
  function worst(u) {
    const ctx = u.ctx, px = uPlot.pxRatio, box = u.bbox;
    ctx.save();
    ctx.strokeStyle = css("--bad"); ctx.globalAlpha = 0.55; ctx.lineWidth = px; ctx.setLineDash([3 * px, 3 * px]);
    for (const [at] of data.worst) {
      const x = u.valToPos(at, "x", true);
      if (x < box.left || x > box.left + box.width) continue;
      ctx.beginPath(); ctx.moveTo(x, box.top); ctx.lineTo(x, box.top + box.height); ctx.stroke();
    }
    ctx.restore();
  }

  function strip(parent, title, unit, t, lines, names, labelled) {
    const box = make("div"); box.className = "strip";
    const host = make("div"); host.className = "chart"; host.tabIndex = 0; host.setAttribute("role", "img"); host.setAttribute("aria-label", title);
    const readout = make("div"); readout.className = "readout";
    const heading = make("h4", title);
    const looks = looksOf(names);
    if (names.length > 1 || names[0] !== title) names.forEach((name, i) => { const item = make("span", name); item.prepend(swatch(...looks[i])); heading.append(item); });
    const bar = make("div"); bar.className = "bar"; bar.append(heading, readout);
    box.append(bar, host); parent.append(box);
    const flat = lines.flat().filter((v) => v != null);
    const low = flat.reduce((a, v) => Math.min(a, v), Infinity), high = flat.reduce((a, v) => Math.max(a, v), -Infinity);
    const pad = (high - low || Math.abs(high) || 1) * 0.12;
    const entry = chart(host, Object.assign(timeOptions(), {
      height: labelled ? 132 : 108,
      scales: { x: xScale(false), y: { range: [low >= 0 ? Math.max(low - pad, 0) : low - pad, high + pad] } },
      axes: [timeAxis(labelled), axis(unit, { size: 58, splits: (u, i, min, max) => even(min, max, 4), values: (u, splits) => splits.map((v) => number(v)) })],
      series: [{}].concat(lines.map((_, i) => ({ stroke: css(looks[i][0]), width: 1.3, dash: looks[i][1], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) }))),
      hooks: timeHooks({ draw: [worst] }),
      say: (u, i) => clock(t[i]) + ": " + names.map((name, k) => [name, lines[k][i]]).filter(([, v]) => v != null).map(([name, v]) => `${name} ${number(v)} ${unit}`).join(" · "),
    }), [t, ...lines], readout);
    timePlots.push(entry);
    listen(host, () => entry);
  }

  function strips(parent) {
    parent.textContent = "";
    const { step, lanes: rows } = data.time;
    const jobs = [];
    for (const what of ["missed", "dropped"]) {
      const have = rows.map((r, lane) => [data.labels[lane], r[what]]).filter(([, v]) => v.length);
      if (!have.length) continue;
      const size = have[0][1].length;
      jobs.push({ title: what === "missed" ? "Missed activations" : "Dropped samples", unit: "count", t: Array.from({ length: size + 1 }, (_, i) => i * step),
        lines: have.map(([, v]) => v.concat(v[size - 1])), names: have.map(([name]) => name), news: true });
    }
    for (const c of data.telemetry) {
      const size = Math.max(...c.lines.map((l) => l.v.length));
      if (!size) continue;
      const left = c.left_out ? ` (${c.lines.length} of ${c.lines.length + c.left_out} shown)` : "";
      jobs.push({ title: c.title + left, unit: c.unit, t: Array.from({ length: size + 1 }, (_, i) => i * c.step), news: c.news,
        lines: c.lines.map((l) => Array.from({ length: size + 1 }, (_, i) => l.v[Math.min(i, l.v.length - 1)] ?? null)), names: c.lines.map((l) => l.name) });
    }
    const told = jobs.filter((job) => job.news), quiet = jobs.filter((job) => !job.news);
    fill(parent, told);
    if (!quiet.length) return;
    const folded = make("details");
    folded.append(make("summary", `${quiet.length} ${quiet.length === 1 ? "monitor" : "monitors"} with nothing unusual at the worst wake-ups: ${[...new Set(quiet.map((job) => job.title))].join(", ")}`));
    // Drawn when it is opened: a closed one has no width.
    folded.addEventListener("toggle", () => { if (folded.open && !folded.querySelector(".strip")) fill(folded, quiet); });
    parent.append(folded);
  }

  function fill(parent, jobs) {
    jobs.forEach(({ title, unit, t, lines, names }, i) => {
      // Every strip shares the axis of the latency envelope.
      const end = spanSeconds, cut = t.filter((v) => v <= end);
      if (cut[cut.length - 1] < end) cut.push(end);
      const fit = lines.map((l) => cut.map((v, k) => l[Math.min(k, l.length - 1)]));
      strip(parent, title, unit, cut, fit, names, i === jobs.length - 1);
    });
  }

  /* ---- legends, scale buttons, life cycle ---- */

  function legend(host) {
    host.textContent = "";
    data.labels.forEach((name, lane) => {
      const button = make("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(shown[lane]));
      button.append(swatch("--c" + (lane % 8), dash(lane)), `${name} max ${data.maxima[lane]} us`);
      button.addEventListener("click", () => {
        shown[lane] = !shown[lane];
        document.querySelectorAll(".legend").forEach((l) => l.children[lane].setAttribute("aria-pressed", String(shown[lane])));
        for (const entry of plots) for (const i of entry.visible ? entry.visible(lane) : []) entry.plot.setSeries(i, { show: shown[lane] });
      });
      host.append(button);
    });
  }

  /* Log x where the largest value is far beyond the bulk, as on a stock kernel; else linear as everybody draws it. */
  const farthest = Math.max(...data.histogram.map((h) => h.x.reduce((a, b) => a + b, 0)), 1);
  const logX = { "fig-histogram": farthest > 20 * data.typical_ns, "fig-exceedance": farthest > 5 * data.typical_ns };
  const build = { "fig-histogram": histogram, "fig-exceedance": exceedance };
  const current = {};

  function drop(entry) {
    if (!entry) return;
    plots.splice(plots.indexOf(entry), 1);
    entry.plot.destroy();
  }

  function draw(id) {
    const figure = document.getElementById(id);
    drop(current[id]);
    const button = figure.querySelector("[data-scale]");
    button.textContent = logX[id] ? "x axis: log" : "x axis: linear";
    button.setAttribute("aria-pressed", String(logX[id]));
    current[id] = build[id](figure.querySelector(".chart"), figure.querySelector(".readout"), logX[id]);
  }

  function drawTime() {
    const figure = document.getElementById("fig-time");
    if (!figure) return;
    timePlots.slice().forEach(drop);
    const box = figure.querySelector(".strips");
    const below = data.telemetry.some((c) => c.news) || data.time.lanes.some((r) => r.missed.length || r.dropped.length);
    overTime(figure.querySelector(".chart"), figure.querySelector(".readout"), below);
    strips(box);
  }

  function drawAll() { draw("fig-histogram"); draw("fig-exceedance"); drawTime(); }

  document.getElementById("charts").hidden = false;
  if (!lanes) return;
  document.querySelectorAll(".legend").forEach(legend);
  drawAll();
  for (const id of Object.keys(build)) {
    const figure = document.getElementById(id);
    listen(figure.querySelector(".chart"), () => current[id]);
    figure.querySelector("[data-scale]").addEventListener("click", () => { logX[id] = !logX[id]; draw(id); });
  }
  const time = document.getElementById("fig-time");
  if (time) listen(time.querySelector(".chart"), () => timePlots[0]);
  document.querySelectorAll(".wide-scroll").forEach(owners);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = 0;
  new ResizeObserver(() => {
    const now = document.getElementById("charts").clientWidth;
    if (now === width) return;
    width = now;
    for (const { plot, host } of plots) plot.setSize({ width: Math.max(host.clientWidth, 240), height: plot.height });
  }).observe(document.getElementById("charts"));
})();
