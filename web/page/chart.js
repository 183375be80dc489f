// Line charts over time, as SVG: axes, bands, lines that differ in dashes as
// well as in colour, labels at their ends, a reading by pointer and by keyboard,
// and the numbers as a table.
import {el, patch} from './dom.js';
import {absolute, clock, trimmed} from './format.js';
import {bandPath, byteTicks, linePath, nearest, rangeOfBands, scale, spread, ticks, timeTicks}
  from './scale.js';
import {table} from './tables.js';

const height = 190;
const top = 10;
const bottom = 24;
const mostSeries = 8;

const readings = new Map();   // From a chart's id to the time that is read.
const geometries = new WeakMap();  // From a plot to what it shows.
const openTables = new Set();

// Plots are as wide as their place.
const resizes = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    const geometry = geometries.get(target);
    if (geometry && geometry.width !== target.clientWidth) draw(target, geometry.chart);
  }
});

// Returns a chart: {id, title, times (microseconds), unit, format, withZero,
// series: [{name, values, lower, upper}], events: [{time, name}]}. `refresh`
// is called where the page must be described again.
export function timeChart(chart, refresh) {
  const series = chart.series.slice(0, mostSeries);
  const left = chart.series.length - series.length;
  const shown = {...chart, series};
  const isOpen = openTables.has(chart.id);
  return el('figure', {key: chart.id, class: 'chart'},
      el('figcaption', {}, chart.title),
      legend(shown),
      el('div', {
        class: 'plot', role: 'slider', tabindex: 0, draw: (node) => draw(node, shown),
        'aria-label': `${chart.title}: time that is read`,
        on: {pointermove: point, pointerleave: leave, keydown: press, blur: leave},
      }),
      left > 0 && el('p', {class: 'note'}, `${left} more lines are in the table.`),
      el('details', {on: {toggle: (event) => {
        if (event.target.open) openTables.add(chart.id); else openTables.delete(chart.id);
        refresh();
      }}}, el('summary', {}, 'Table', el('span', {class: 'unseen'}, ` of ${chart.title}`)),
      isOpen && numbers(chart)));
}

function legend({series, format}) {
  return el('ul', {class: 'legend'}, series.map(({name, values}, i) => el('li', {},
      el('svg', {class: `sample series-${i}`, viewBox: '0 0 26 8', 'aria-hidden': 'true'},
          el('path', {class: 'line', d: 'M1 4H25'})),
      series.length > 1 && [el('bdi', {}, name), ' '], el('span', {class: 'latest'}, format(latest(values))))));
}

function latest(values) {
  return values.findLast((value) => Number.isFinite(value)) ?? NaN;
}

// One row a minute at most; a page of 720 rows is no table.
function numbers({title, times, series, format}) {
  const every = Math.max(1, Math.ceil(times.length / 60));
  const rows = [];
  for (let i = times.length - 1; i >= 0; i -= every) {
    rows.push({key: times[i], cells: [el('span', {title: absolute(times[i])}, clock(times[i])),
      ...series.map((each) => reading(each, i, format))]});
  }
  return el('div', {class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': `Table of ${title}`},
      table(title, [{name: 'Time'}, ...series.map(({name}) => ({name, number: true}))], rows));
}

function reading({values, lower, upper}, i, format) {
  const value = format(values[i]);
  return Number.isFinite(lower?.[i]) && Number.isFinite(upper?.[i]) ?
      `${value} [${format(lower[i])}, ${format(upper[i])}]` : value;
}

function draw(node, chart) {
  const width = node.clientWidth;
  if (width === 0) return;  // In details that are closed.
  if (!geometries.has(node)) resizes.observe(node);
  const {times, series, format} = chart;
  const [low, high] = rangeOfBands(series, chart.withZero);
  const yTicks = (chart.unit === 'bytes' ? byteTicks : ticks)(low, high, 4);
  const label = (value) => trimmed(format(value));
  const left = 10 + 6.6 * Math.max(...yTicks.map((each) => label(each).length));
  const hasLabels = width > 430 && series.length > 1 && series.length <= 6;
  const names = series.map(({name}) => name.length > 14 ? `${name.slice(0, 13)}…` : name);
  const right = hasLabels ? 14 + 6.6 * Math.max(...names.map((name) => name.length)) : 18;
  const x = scale(times[0], times.at(-1), left, width - right);
  const y = scale(low, high, height - bottom, top);
  const xs = times.map(x);
  geometries.set(node, {chart, width, xs, x, y, left, right: width - right});
  const most = Math.max(2, Math.floor((width - left - right) / 60));
  patch(node,
      el('svg', {width, height, 'aria-hidden': 'true', focusable: 'false'},
          yTicks.map((at) => [
            el('line', {class: 'grid', x1: left, x2: width - right, y1: y(at), y2: y(at)}),
            el('text', {class: 'tick', x: left - 6, y: y(at) + 4, 'text-anchor': 'end'}, label(at)),
          ]),
          timeTicks(times[0], times.at(-1), most).map((at) => [
            el('line', {class: 'axis', x1: x(at), x2: x(at), y1: height - bottom,
              y2: height - bottom + 4}),
            el('text', {class: 'tick', x: x(at), y: height - 6, 'text-anchor': 'middle'},
                clock(at).slice(0, 5)),
          ]),
          el('line', {class: 'axis', x1: left, x2: width - right, y1: height - bottom,
            y2: height - bottom}),
          (chart.events ?? []).map((event) => eventLine(event, x, left, width - right)),
          el('svg', {x: left, y: 0, width: width - left - right, height: height - bottom + 1,
            viewBox: `${left} 0 ${width - left - right} ${height - bottom + 1}`},
          series.map(({values, lower, upper}, i) => el('g', {class: `series-${i}`},
              lower && el('path', {class: 'band', d: bandPath(xs, lower.map(y), upper.map(y))}),
              el('path', {class: 'line', d: linePath(xs, values.map(y))})))),
          hasLabels && endLabels(series, names, y, width - right),
          el('g', {class: 'cursor', draw: () => {}})),
      el('div', {class: 'tip', hidden: true, draw: () => {}}));
  read(node);
}

function eventLine({time, name}, x, left, right) {
  const at = x(time);
  if (!(at >= left && at <= right)) return null;
  const isLate = at > (left + right) / 2;
  return el('g', {class: 'event'},
      el('line', {x1: at, x2: at, y1: top, y2: height - bottom}),
      el('text', {class: 'tick', x: at + (isLate ? -4 : 4), y: top + 8,
        'text-anchor': isLate ? 'end' : 'start'}, name));
}

function endLabels(series, names, y, x) {
  const drawn = series.map((_, i) => i).filter((i) => Number.isFinite(latest(series[i].values)));
  const places = spread(drawn.map((i) => y(latest(series[i].values)) + 4), 13, top + 8,
      height - bottom);
  return drawn.map((i, k) => el('text', {class: 'end', x: x + 6, y: places[k]}, names[i]));
}

function point(event) {
  const {chart, xs} = geometries.get(event.currentTarget) ?? {};
  if (!chart) return;
  const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
  readings.set(chart.id, chart.times[nearest(xs, x)]);
  read(event.currentTarget);
}

function leave(event) {
  const node = event.currentTarget;
  if (event.type === 'pointerleave' && node === document.activeElement) return;
  readings.delete(geometries.get(node)?.chart.id);
  read(node);
}

function press(event) {
  const node = event.currentTarget;
  const {chart} = geometries.get(node) ?? {};
  if (!chart) return;
  const last = chart.times.length - 1;
  const now = readings.has(chart.id) ? nearest(chart.times, readings.get(chart.id)) : last;
  const step = Math.max(1, Math.round(last / 60));
  const places = {
    ArrowLeft: now - step, ArrowDown: now - step, ArrowRight: now + step, ArrowUp: now + step,
    PageUp: now + 10 * step, PageDown: now - 10 * step, Home: 0, End: last,
  };
  if (event.key === 'Escape') {
    readings.delete(chart.id);
  } else if (event.key in places) {
    const wanted = Math.min(last, Math.max(0, places[event.key]));
    readings.set(chart.id, chart.times[wanted]);
  } else {
    return;
  }
  event.preventDefault();
  read(node);
}

// Shows what is read of a plot, for eyes and for screen readers.
function read(node) {
  const {chart, xs, y, left, right} = geometries.get(node);
  const {times, series, format} = chart;
  const isRead = readings.has(chart.id);
  const i = isRead ? nearest(times, readings.get(chart.id)) : times.length - 1;
  const lines = series.map((each) => `${each.name}: ${reading(each, i, format)}`);
  node.setAttribute('aria-valuemin', 0);
  node.setAttribute('aria-valuemax', times.length - 1);
  node.setAttribute('aria-valuenow', i);
  node.setAttribute('aria-valuetext', `${clock(times[i])}. ${lines.join('. ')}`);
  const tip = node.querySelector('.tip');
  tip.hidden = !isRead;
  patch(node.querySelector('.cursor'), isRead && [
    el('line', {class: 'axis', x1: xs[i], x2: xs[i], y1: top, y2: height - bottom}),
    series.map(({values}, k) => Number.isFinite(values[i]) && el('circle',
        {class: `dot series-${k}`, cx: xs[i], cy: y(values[i]), r: 3.5})),
  ]);
  if (!isRead) return;
  patch(tip, el('div', {class: 'tip-time', title: absolute(times[i])}, clock(times[i])),
      series.map((each, k) => el('div', {class: 'tip-line'},
          el('svg', {class: `sample series-${k}`, viewBox: '0 0 26 8'},
              el('path', {class: 'line', d: 'M1 4H25'})),
          el('bdi', {}, each.name), el('span', {class: 'latest'}, reading(each, i, format)))));
  // Beside the line, on the side with more room; where there is little, at the edge.
  const isRight = xs[i] < (left + right) / 2;
  const isNarrow = node.clientWidth < 430;
  const distance = isNarrow ? 0 : isRight ? xs[i] + 12 : node.clientWidth - xs[i] + 12;
  const isFromLeft = isRight !== isNarrow;
  tip.style.setProperty(isFromLeft ? 'left' : 'right', `${distance}px`);
  tip.style.setProperty(isFromLeft ? 'right' : 'left', 'auto');
}
