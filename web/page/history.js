// Which chart shows which series of the last hour.
import {formatterOf, toNumber} from './format.js';
import {versionName} from './judge.js';

// Titles of series that are known; others are called by their name. `line` says
// which label tells the lines of a chart apart.
const known = {
  reward: {title: 'Reward', line: 'version'},
  decisions_per_second: {title: 'Decisions', line: 'version', withZero: true},
  requests_per_second: {title: 'Calls', line: 'method', withZero: true},
  p50_seconds: {title: 'Half of the calls within', line: 'method', withZero: true},
  p99_seconds: {title: '99 % of the calls within', line: 'method', withZero: true},
  refusals_per_second: {title: 'Refused and failed calls', withZero: true},
  spool_bytes: {title: 'Spool', withZero: true},
  lag_bytes: {title: 'Log that the sidecar has not read', withZero: true},
  lag_seconds: {title: 'How far the sidecar is behind', withZero: true},
  pending: {title: 'Decisions that wait for feedback', withZero: true},
};

// Returns the charts of the history as timeChart() takes them. `keep` says which
// series are wanted, by name and labels. Lines of one name that `known` does not
// tell apart have all their labels as names.
export function charts(history, keep, prefix = '') {
  const times = (history?.times_us ?? []).map(toNumber);
  if (times.length < 2) return [];
  const byName = new Map();
  for (const series of history.series ?? []) {
    const labels = series.labels ?? {};
    if (!keep(series.name, labels)) continue;
    if (!byName.has(series.name)) byName.set(series.name, []);
    byName.get(series.name).push({...series, labels});
  }
  const order = Object.keys(known);
  const place = (name) => order.includes(name) ? order.indexOf(name) : order.length;
  return [...byName].sort(([a], [b]) => place(a) - place(b)).map(([name, found]) => {
    const {title = sentence(name), line, withZero = false} = known[name] ?? {};
    return {
      id: `${prefix}${name}`, title, times, withZero,
      unit: found[0].unit,
      format: formatterOf(found[0].unit),
      series: found.map((series) => lineOf(series, line, times.length))
          .sort((a, b) => compareNames(a.name, b.name)),
    };
  });
}

function lineOf({labels, values, lower, upper}, line, length) {
  const numbers = (given) => given?.length === length ? given.map(toNumber) : null;
  return {name: lineName(labels, line), values: numbers(values) ?? Array(length).fill(NaN),
    lower: numbers(lower), upper: numbers(upper)};
}

function lineName(labels, line) {
  if (line === 'version' && labels.version !== undefined) return versionName(labels.version);
  if (labels[line]) return labels[line];
  return Object.values(labels).join(', ') || 'all';
}

function compareNames(a, b) {
  return a.localeCompare(b, 'en', {numeric: true});
}

function sentence(name) {
  const words = name.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// Returns when another version began to serve, as events of a chart: from the
// changes that a model had, latest first.
export function changesOf(model) {
  const changes = [...model.history ?? []].reverse();
  return changes.map(({time, pinned_version: pinned, change}) => ({
    time: Date.parse(time) * 1000,
    name: toNumber(pinned) > 0 ? `pin ${pinned}` : `change ${change}`,
  })).filter((event) => Number.isFinite(event.time));
}
