// What a status means: pure functions of /status.json. A level is "good",
// "warn", "bad" or "none" (there is nothing to judge).
import {bytes, count, seconds, share, toCount, toNumber} from './format.js';

// Returns {level, title, text}: does the server answer?
export function readiness(server) {
  if (server.ready) return {level: 'good', title: 'Ready', text: 'It answers requests.'};
  return {level: 'bad', title: 'Not ready', text: server.why_not_ready || 'It does not say why.'};
}

const spoolStates = {
  full: 'The spool is full: records are refused or lost. Does the sidecar run, and is there room?',
  io_error: 'The spool cannot be written: records are refused or lost.',
  sync_failed: 'The spool cannot be synced; its records are being saved to another segment.',
  stalled: 'A sync does not return: nothing is answered.',
};

// Returns the same: does every answer have its record?
export function logState(spool) {
  if (!spool?.dir) {
    return {level: 'warn', title: 'Not logged', text: 'Nothing can be learned from decisions. ' +
        'The option spool.dir names a directory for them.'};
  }
  const lost = toCount(spool.lost_records);
  const refused = toCount(spool.refused);
  if (spool.state !== 'ok') {
    return {level: 'bad', title: `Log: ${spool.state.replaceAll('_', ' ')}`,
      text: spoolStates[spool.state] ?? 'The spool does not take records.'};
  }
  if (lost > 0) {
    return {level: 'bad', title: 'Log has gaps',
      text: `${counted(lost, 'record')} lost since the start. What is learned from it may be wrong.`};
  }
  const room = toNumber(spool.max_bytes) - toNumber(spool.bytes);
  const free = toNumber(spool.disk_free_bytes);
  if (free < room) {
    return {level: 'warn', title: 'Log sound, disk short',
      text: `The disk has ${bytes(free)}; the spool may take ${bytes(room)} more.`};
  }
  const written = toCount(spool.records);
  if (refused > 0) {
    return {level: 'warn', title: 'Log sound', text: `${counted(written, 'record')}, none lost; ` +
        `${counted(refused, 'call')} refused because the log took no records.`};
  }
  return {level: 'good', title: 'Log sound', text: `${counted(written, 'record')}, none lost.`};
}

function counted(number, thing) {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`;
}

// Returns the same: is the log being joined with its feedback?
export function joining(status) {
  const {sidecar, sidecar_problem: problem} = status;
  if (!sidecar) {
    return problem ? {level: 'bad', title: 'Sidecar not seen', text: problem} :
      {level: 'none', title: 'No sidecar shown', text: 'Rewards come from a sidecar: name it in the ' +
          'option http.sidecar.'};
  }
  if (sidecar.problem) return {level: 'bad', title: 'Not joining', text: sidecar.problem};
  const lag = toCount(sidecar.lag_bytes);
  const tuples = counted(toCount(sidecar.tuples), 'tuple');
  if (lag > largeLag) {
    return {level: 'warn', title: 'Joining lags', text: `${bytes(lag)} of the log are not read yet.`};
  }
  return {level: 'good', title: 'Joined', text: lag > 0 ? `${tuples}; ${bytes(lag)} to read.` :
      `${tuples}; all is read.`};
}

// Returns the same: does training work? The last run of each kind counts.
export function training(server) {
  const runs = (server.models ?? []).flatMap(({name, runs: each}) =>
    (each ?? []).map((run) => ({...run, model: name})));
  const failed = runs.filter(({outcome}) => outcome === 'FAILED');
  if (failed.length > 0) {
    const {kind, model, verdict, next_step: next} = failed[0];
    return {level: 'bad', title: 'Training fails', text: [`The last ${kind} of ${model}: ${verdict}`, next]
        .filter(Boolean).join(' ')};
  }
  const trained = runs.filter(({kind, outcome}) => kind === 'train' && outcome !== 'RUNNING');
  if (trained.length === 0 && runs.some(({kind}) => kind === 'train')) {
    return {level: 'none', title: 'First training', text: 'The first run of the trainer is under way.'};
  }
  if (trained.length === 0) {
    return {level: 'none', title: 'No training yet', text: 'No run of the trainer is recorded in the store.'};
  }
  // The verdicts are with each model.
  if (trained.some(({outcome}) => outcome === 'NOT_YET')) {
    return {level: 'none', title: 'Training waits', text: 'Too little is new yet.'};
  }
  const published = trained.some(({outcome}) => outcome === 'DONE');
  return {level: 'good', title: 'Training works',
    text: published ? 'The last one published a version.' : 'The last one found nothing better.'};
}

// A sidecar that keeps up reads within seconds what is written.
const largeLag = 64 * 1024 * 1024;

// Returns the same: how much is asked, and how fast are answers?
export function traffic(server) {
  const methods = server.methods ?? [];
  const perSecond = methods.reduce((sum, {per_second: each}) => sum + toCount(each), 0);
  const answers = methods.flatMap(({codes}) => codes ?? []);
  const total = answers.reduce((sum, {count: each}) => sum + toCount(each), 0);
  if (total === 0) return {level: 'none', title: 'No calls yet', text: 'Nobody has asked so far.'};
  // The busiest method stands for all.
  const busiest = methods.reduce((a, b) => toCount(a.per_second) >= toCount(b.per_second) ? a : b);
  const p99 = toNumber(busiest.p99_seconds);
  const errors = answers.reduce((sum, {name, count: each}) =>
      sum + (name === 'OK' ? 0 : toCount(each)), 0);
  const text = [p99 > 0 && perSecond > 0 && `99 % of ${busiest.method} within ${seconds(p99)}.`,
    errors === 0 ? `Of ${counted(total, 'call')} none failed.` :
      `${share(errors / total)} of ${counted(total, 'call')} failed.`].filter(Boolean).join(' ');
  return {level: errors / total > 0.01 ? 'warn' : 'good', title: `${rounded(perSecond)} calls/s`, text};
}

function rounded(value) {
  return value > 0 && value < 10 ? value.toFixed(1) : count(value);
}

// Returns what serves, has decided, or was rewarded of each model: [{model,
// policies: [{version, uses, serves, traffic, worth}]}], in the order of the
// status; policies that serve first, then by version, newest first. `version`
// is text: sidecars add up the rarest as "other".
export function policies(status) {
  const models = new Map();
  const entry = (model, version) => {
    if (!models.has(model)) models.set(model, new Map());
    const versions = models.get(model);
    if (!versions.has(version)) versions.set(version, {version, uses: []});
    return versions.get(version);
  };
  for (const model of status.server?.models ?? []) {
    Object.assign(entry(model.name, String(model.version)), {serves: true, uses: ['serves']});
    for (const {version, uses} of model.versions ?? []) {
      if (uses?.length) entry(model.name, String(version)).uses = uses;
    }
    for (const traffic of model.traffic ?? []) {
      entry(model.name, String(traffic.version)).traffic = traffic;
    }
  }
  for (const worth of status.sidecar?.worths ?? []) {
    entry(worth.model, String(worth.version)).worth = worth;
  }
  const order = ({serves, version}) => serves ? -Infinity : -toNumber(version) || 0;
  return [...models].map(([model, versions]) => ({
    model, policies: [...versions.values()].sort((a, b) => order(a) - order(b)),
  }));
}

// Returns how a version is called: 0 is the uniform policy.
export function versionName(version) {
  const name = String(version);
  return name === '0' ? 'uniform' : name === 'other' ? 'other versions' : `version ${name}`;
}

// Returns sentences about what somebody who cannot see the page should hear at
// once.
export function importantChanges(before, after) {
  const said = [];
  const compare = (was, is) => {
    if (was.level !== is.level || was.title !== is.title) said.push(`${is.title}. ${is.text}`);
  };
  if (before.server && after.server) {
    compare(readiness(before.server), readiness(after.server));
    const was = logState(before.server.spool);
    const is = logState(after.server.spool);
    // "Log sound" and a number that grows is no news.
    if (was.level !== is.level) compare(was, is);
    const served = new Map((before.server.models ?? []).map(({name, version}) => [name, String(version)]));
    for (const {name, version} of after.server.models ?? []) {
      if (served.has(name) && served.get(name) !== String(version)) {
        said.push(`${name}: ${versionName(version)} serves now.`);
      }
    }
  }
  if (joining(before).level !== joining(after).level) compare(joining(before), joining(after));
  return said;
}

// Returns how much a population stability index is, as its users say it.
export function driftLevel(index) {
  if (!Number.isFinite(index)) return {level: 'none', word: 'not known'};
  if (index > 0.25) return {level: 'bad', word: 'much'};
  return index > 0.1 ? {level: 'warn', word: 'some'} : {level: 'good', word: 'little'};
}

// Returns which steps somebody new has done: {ask, report, join, train}, or null
// once a model has a version.
export function stepsDone(status) {
  const {server, sidecar} = status;
  if (!server) return null;
  const models = server.models ?? [];
  if (models.some(({version, versions}) => toCount(version) > 0 || versions?.length)) return null;
  const decided = models.some(({traffic: each}) => each?.some(({decisions}) => toCount(decisions) > 0));
  const feedback = (server.methods ?? []).find(({method}) => method === 'ReportFeedback');
  const isReported = feedback?.codes?.some(({name, count: each}) => name === 'OK' && toCount(each) > 0) ||
      sidecar?.worths?.some(({with_feedback: each}) => toCount(each) > 0);
  return {ask: Boolean(decided), report: Boolean(isReported), join: Boolean(sidecar), train: false};
}

// Returns the version that a rollback of this model goes back to by itself: the
// one that serves the rest of split or interleaved traffic, else the newest one
// before it that can be read and that no rollback has left. Null: there is none.
export function rollbackTarget(model) {
  const serving = model.serving ?? {};
  const now = toCount(model.version);
  if (serving.split?.arms?.length || serving.interleave) return now > 0 ? now : null;
  const left = new Set((serving.rolled_back_versions ?? []).map(Number));
  const versions = (model.versions ?? []).filter(({version, error}) =>
    toCount(version) < now && !error && !left.has(toCount(version)));
  return versions.length ? Math.max(...versions.map(({version}) => toCount(version))) : null;
}

// Returns the places of 10,000 of each arm, from version to number.
export function shares(serving) {
  return new Map((serving?.split?.arms ?? []).map(({version, ranges}) => [toCount(version),
    (ranges ?? []).reduce((sum, {begin, end}) => sum + toCount(end) - toCount(begin), 0)]));
}

