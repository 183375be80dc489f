// Tables, bars and other small pieces of which sections are made.
import {el} from './dom.js';
import {absolute, ago, bytes, count, decimal, decimalsOfAll, interval, share, short, toCount, toNumber, trimmed}
  from './format.js';

// The header of a column of bars: the number that a bar shows stands beside it.
export const barColumn = {name: el('span', {class: 'unseen'}, 'Bar'), label: ''};

// Returns a table. A column is {name, label: the name as text where it is none,
// number: is it one?, hint}; a row has as many cells as columns, or is {key,
// cells}. The first cell is the row's header. On narrow screens each row becomes
// a block whose lines repeat the columns' names, so roles are said explicitly.
export function table(caption, columns, rows, options = {}) {
  const header = columns.map((column) => el('th', {
    role: 'columnheader', scope: 'col', class: column.number && 'number', title: column.hint,
  }, column.name));
  return el('table', {role: 'table', class: `stacks ${options.class ?? ''}`},
      el('caption', {class: !options.showCaption && 'unseen'}, caption),
      el('thead', {role: 'rowgroup'}, el('tr', {role: 'row'}, header)),
      el('tbody', {role: 'rowgroup'}, rows.map((row) => tableRow(columns, row))));
}

function tableRow(columns, row) {
  const cells = row.cells ?? row;
  return el('tr', {role: 'row', key: row.key}, cells.map((cell, i) => {
    const isHeader = i === 0;
    return el(isHeader ? 'th' : 'td', {
      role: isHeader ? 'rowheader' : 'cell', scope: isHeader && 'row',
      class: [columns[i].number && 'number', cell === '–' && 'nothing'].filter(Boolean).join(' ') || null,
      'data-label': columns[i].label ?? columns[i].name,
    }, el('div', {}, cell));
  }));
}

// Returns a list of names and values; pairs without a value are left out.
export function facts(pairs) {
  return el('dl', {class: 'facts'}, pairs.filter(([, value]) => value !== null && value !== '')
      .map(([name, value]) => el('div', {key: name}, el('dt', {}, name), el('dd', {}, value))));
}

// Returns a bar as long as a share of 1; the number stands beside it as text.
export function bar(part, kind = '') {
  const width = Math.min(100, Math.max(0, 100 * part)) || 0;
  return el('svg', {class: `bar ${kind}`, 'aria-hidden': 'true', focusable: 'false'},
      el('rect', {class: 'track', width: '100%', height: '100%', rx: 2}),
      el('rect', {class: 'filled', width: `${width.toFixed(2)}%`, height: '100%', rx: 2}));
}

// Returns a histogram of the status as a table of bars, or null without counts.
export function histogram(caption, given) {
  const counts = (given?.counts ?? []).map(toCount);
  const bounds = (given?.bounds ?? []).map(toNumber);
  const total = counts.reduce((sum, each) => sum + each, 0);
  if (total === 0 || counts.length !== bounds.length + 1) return null;
  const most = Math.max(...counts);
  const rows = filled(counts).map((i) => {
    const name = i === bounds.length ? `> ${trimmed(short(bounds[i - 1] ?? NaN))}` :
        `≤ ${trimmed(short(bounds[i]))}`;
    return [name, bar(counts[i] / most), share(counts[i] / total)];
  });
  return table([caption, el('span', {class: 'note'}, ` ${count(total)} decisions`)],
      [{name: 'Bin', number: true}, barColumn, {name: 'Share', number: true}], rows,
      {class: 'histogram', showCaption: true});
}

// Returns the indices between the first and the last bin that is not empty.
function filled(counts) {
  const first = counts.findIndex((each) => each > 0);
  const last = counts.findLastIndex((each) => each > 0);
  return Array.from({length: last - first + 1}, (_, i) => first + i);
}

const lastTimeUs = 8.64e18;  // Of a Date.

// Returns a time as how long ago it was, with date and time in a title.
export function time(timeUs, nowUs) {
  const at = toNumber(timeUs);
  if (!(at > 0)) return 'never';
  if (at > lastTimeUs) return 'unknown';
  return el('time', {datetime: new Date(at / 1000).toISOString(), title: absolute(at)},
      ago(at, nowUs));
}

// Returns one word in a frame, such as what a version is used for.
export function chip(text, kind = '') {
  return el('span', {class: `chip ${kind}`}, text);
}

// Returns what a version is used for; arms have places of 10,000.
export function useChip(use) {
  const arm = use.match(/^(arm|interleaved) (\d+)$/);
  const text = arm ? `${arm[1]} ${share(Number(arm[2]) / 10000)}` : use;
  return chip(text, use.startsWith('serves') ? 'serves' : '');
}

const marks = {
  good: 'M3.5 8.5 6.5 11.5 12.5 4.5', bad: 'M4 4 12 12M12 4 4 12', warn: 'M8 3V9M8 12.2V12.4',
  none: 'M4 8H12',
};

// Returns the sign of a level: each has a shape of its own.
export function mark(level) {
  return el('svg', {class: `mark ${level}`, viewBox: '0 0 16 16', 'aria-hidden': 'true',
    focusable: 'false'}, el('circle', {cx: 8, cy: 8, r: 8}), el('path', {d: marks[level]}));
}

// Returns what stands where there is nothing yet: what to do about it.
export function empty(...children) {
  return el('p', {class: 'empty'}, children);
}

// Returns a part of the page with its own heading, which the navigation names.
export function section(id, title, ...children) {
  return el('section', {key: id, id, 'aria-labelledby': `${id}-title`},
      el('h2', {id: `${id}-title`}, title), children);
}

// Returns used and largest size with a bar.
export function usage(used, most) {
  if (!(most > 0)) return bytes(used);
  return [`${bytes(used)} of ${bytes(most)} `, bar(used / most, used / most > 0.8 ? 'much' : '')];
}

// Returns an estimate (toEstimate()) with its interval, or what stands for it.
export function withInterval(given, none = 'not known', decimals = decimalsOfAll([given])) {
  if (!given) return el('span', {class: 'note'}, none);
  const bounds = interval(given, decimals);
  return [decimal(given.value, decimals), bounds && [' ', el('span', {class: 'interval'}, bounds)]];
}
