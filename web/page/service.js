// Calls, the log, the sidecar, the process, and what was warned of.
import {timeChart} from './chart.js';
import {el} from './dom.js';
import {bytes, count, rate, seconds, share, toCount, toNumber} from './format.js';
import {charts} from './history.js';
import {logState, joining} from './judge.js';
import {empty, facts, mark, section, table, time, usage} from './tables.js';

// Series of a model are drawn beside it.
const ofProcess = (wanted) => (name, labels) => labels.model === undefined && wanted(name);
const isOfLog = (name) => /spool|lag|pending|tuple|censored|late|disk|watermark|feedback/.test(name);

function chartGroup(status, wanted, refresh) {
  const found = charts(status.history, ofProcess(wanted));
  return found.length > 0 && el('div', {class: 'charts'}, found.map((chart) => timeChart(chart, refresh)));
}

export function callSection(status, refresh) {
  const {server} = status;
  const methods = (server.methods ?? []).filter(({codes}) => codes?.length);
  return section('calls', 'Calls',
      chartGroup(status, (name) => !isOfLog(name), refresh),
      methods.length === 0 ? empty('No calls since the start.') :
        table('Calls by method', [{name: 'Method'}, {name: 'Rate', number: true},
          {name: 'Half within', number: true}, {name: '90 %', number: true}, {name: '99 %', number: true},
          {name: '99.9 %', number: true}, {name: 'OK', number: true}, {name: 'Other answers'}],
        methods.map((each) => [each.method, rate(toCount(each.per_second)),
          ...['p50_seconds', 'p90_seconds', 'p99_seconds', 'p999_seconds'].map((name) =>
            toCount(each[name]) > 0 ? seconds(toNumber(each[name])) : '–'),
          count(toCount(each.codes.find(({name}) => name === 'OK')?.count)),
          each.codes.filter(({name}) => name !== 'OK').map((code) =>
            `${code.name} ${count(toCount(code.count))}`).join(', ') || 'none'])),
      refusals(server.refusals ?? []));
}

function refusals(all) {
  const found = all.filter(({count: each}) => toCount(each) > 0);
  if (found.length === 0) return el('p', {class: 'note'}, 'No call was refused since the start.');
  return table('Refused since the start', [{name: 'Reason'}, {name: 'Calls', number: true}],
      found.map((each) => [el('bdi', {}, each.name.replaceAll('_', ' ')), count(toCount(each.count))]),
      {class: 'narrow', showCaption: true});
}

export function logSection(status, page) {
  const {server, sidecar} = status;
  return section('log', 'Log and rewards',
      el('div', {class: 'columns'},
          server && el('div', {key: 'spool'}, el('h3', {}, 'Log of decisions'), spoolFacts(server)),
          el('div', {key: 'sidecar'}, el('h3', {}, 'Sidecar'),
              sidecar ? sidecarFacts(status, page.nowUs) : noSidecar(status))),
      chartGroup(status, isOfLog, page.refresh));
}

function judged({level, title, text}) {
  return el('p', {class: `judged ${level}`}, mark(level), el('span', {}, el('strong', {}, title), ` ${text}`));
}

function spoolFacts({spool, shadow_queue_bytes: queue}) {
  if (!spool?.dir) return judged(logState(spool));
  return [judged(logState(spool)), facts([
    ['Directory', el('code', {}, spool.dir)],
    ['Spool', usage(toNumber(spool.bytes), toNumber(spool.max_bytes))],
    ['Free on its disk', bytes(toNumber(spool.disk_free_bytes))],
    ['Records', count(toCount(spool.records))],
    ['Lost', count(toCount(spool.lost_records))],
    ['Refused', count(toCount(spool.refused))],
    ['Shadows wait for', toCount(queue) > 0 ? bytes(toCount(queue)) : ''],
  ])];
}

function sidecarFacts(status, nowUs) {
  const {sidecar} = status;
  const tuples = toCount(sidecar.tuples);
  const feedback = toCount(sidecar.feedback);
  const late = toCount(sidecar.late);
  const wait = toNumber(sidecar.mean_reward_wait_seconds);
  return [judged(joining(status)), facts([
    ['Directory', sidecar.tuple_dir && el('code', {}, sidecar.tuple_dir)],
    ['Free on its disk', toCount(sidecar.disk_free_bytes) > 0 && bytes(toNumber(sidecar.disk_free_bytes))],
    ['Tuples', count(tuples)],
    ['Wait for feedback', `${count(toCount(sidecar.pending))} decisions`],
    ['Read up to', time(sidecar.watermark_us, nowUs)],
    ['Not read yet', bytes(toCount(sidecar.lag_bytes))],
    ['Censored', part(toCount(sidecar.censored), tuples, 'of the tuples')],
    ['Feedback too late', part(late, late + feedback, 'of the feedback')],
    ['Feedback of no known decision', count(toCount(sidecar.unmatched))],
    ['Invalid feedback, not counted', invalidFeedback(sidecar)],
    ['Rewards come after', wait > 0 && `${seconds(wait)} on average`],
    ['Spools', count(toCount(sidecar.spools))],
    ['Worths are sums since', toCount(sidecar.since_us) > 0 && time(sidecar.since_us, nowUs)],
  ].filter(([, value]) => value))];
}

const invalidReasons = {
  out_of_range: 'with a reward outside of the range', no_such_candidate: 'about a candidate that the request did not have',
};

function invalidFeedback({invalid_feedback: reasons = []}) {
  const found = reasons.filter(({count: each}) => toCount(each) > 0);
  return found.length > 0 && found.map(({name, count: each}) =>
    `${count(toCount(each))} ${invalidReasons[name] ?? name}`).join(', ');
}

function part(number, whole, of) {
  return whole > 0 ? `${count(number)} (${share(number / whole)} ${of})` : count(number);
}

function noSidecar(status) {
  const spool = status.server?.spool?.dir || 'SPOOL';
  return [judged(joining(status)), empty('A sidecar joins decisions with their feedback: ',
      el('code', {class: 'command'}, `sortition-sidecar --spool=${spool} --tuples=TUPLES`))];
}

export function warningSection(status, nowUs) {
  const warnings = status.warnings ?? [];
  const columns = [{name: 'When'}, {name: 'Level'}, {name: 'Message'}, {name: 'Details'}];
  const rows = warnings.map((each) => [
    time(each.time_us, nowUs), each.level.toLowerCase(), el('bdi', {}, each.message),
    each.details ? el('bdi', {class: 'details'}, each.details) : '–',
  ]);
  return section('warnings', 'Warnings', rows.length === 0 ? empty('None since the start.') :
    table('Warnings, latest first', columns, rows, {class: 'warnings'}));
}

export function processSection({process}, nowUs) {
  return section('process', 'Process', facts([
    ['Program', `sortition-${process.role} ${process.version}`],
    ['Started', time(process.start_time_us, nowUs)],
    ['Memory', bytes(toNumber(process.resident_bytes))],
    ['CPU time', seconds(toNumber(process.cpu_seconds))],
    ['Open files', count(toCount(process.open_files))],
  ]));
}

