// How the versions of a model were judged before they served, and whether
// requests still look as in training.
import {el} from './dom.js';
import {count, share, short, toCount, toEstimate, toNumber} from './format.js';
import {driftLevel, versionName} from './judge.js';
import {bar, barColumn, chip, empty, mark, table, time, withInterval} from './tables.js';

const outcomes = {
  DONE: ['done', 'serves'], NOTHING_BETTER: ['nothing better', ''], NOT_YET: ['not yet', ''],
  FAILED: ['failed', 'refused'], RUNNING: ['running', ''],
};

// Returns since when a run is under way; null: none is.
function underWay(run, nowUs) {
  const since = toCount(run.running_since_us);
  return since > 0 ? el('p', {class: 'note'}, 'A run is under way since ', time(since, nowUs)) : null;
}

// Runs of one model that are listed before the last run of each kind.
const mostEarlier = 5;

// Returns the outcomes of the last run of each command of the trainer, and of the
// runs before them; null: none has run.
export function runsOf(model, nowUs) {
  const last = model.runs ?? [];
  if (last.length === 0) return null;
  const runs = [...last, ...(model.earlier_runs ?? []).slice(0, mostEarlier)];
  const rows = runs.map((run, i) => {
    const [word, kind] = outcomes[run.outcome] ?? [run.outcome, ''];
    return {key: i < last.length ? run.kind : `${run.kind} ${run.time_us}`, cells: [
      el('code', {}, run.kind),
      [chip(word, kind), ' ', el('bdi', {}, run.verdict), underWay(run, nowUs),
        run.next_step && el('p', {class: 'note'}, el('bdi', {}, run.next_step))],
      time(run.time_us, nowUs),
      toCount(run.last_success_us) > 0 ? time(run.last_success_us, nowUs) : 'never',
    ]};
  });
  return [el('h4', {key: 'runs'}, 'Last runs'),
    table(`Last runs of the trainer for ${model.name}`, [{name: 'Run'}, {name: 'Outcome'}, {name: 'When'},
      {name: 'Last success', hint: 'A run that published something, or found nothing better'}],
    rows, {class: 'trainings'})];
}

// Returns the improvement with its interval, and a note if the estimate is
// outside: the interval bounds the truth by other sums.
function improvementOf({improvement}) {
  const estimate = toEstimate(improvement);
  const isOutside = estimate?.confidence > 0 && !(estimate.lower <= estimate.value && estimate.value <= estimate.upper);
  return [withInterval(estimate), isOutside && el('p', {class: 'note'},
      'The estimate is outside of its interval, because a few large weights decide it: rely on the interval.')];
}

// Returns options of `ope` by which it reads rewards as the training of the
// version did. Rewards outside of that range would be an error: if the log has
// some, they are clamped.
function rewardOptions({reward_options: given = ''}, model, status) {
  const boundOf = (name, unset) => toNumber(given.match(new RegExp(`--${name}=(\\S+)`))?.[1] ?? unset);
  const worths = (status.sidecar?.worths ?? []).filter((worth) => worth.model === model);
  const isOutside = worths.some(({smallest_reward: smallest = 0, largest_reward: largest = 0}) =>
    toNumber(smallest) < boundOf('reward_min', 0) || toNumber(largest) > boundOf('reward_max', 1));
  const all = isOutside && !given.includes('--clamp_rewards') ? `${given} --clamp_rewards` : given;
  return all ? `${all.trim()} ` : '';
}

// Returns how often the test part was looked at, and what that has cost.
function looksText(model) {
  const looks = toCount(model.looks);
  const left = toCount(model.error_budget_left);
  return `The test part was looked at ${looks === 1 ? 'once' : `${count(looks)} times`}` +
      (left > 0 ? `; ${share(left)} of the error budget of the gate is left for later looks: ` : ': ');
}

// Returns what the gate said of each version.
export function trainingsOf(model, status, nowUs) {
  const judged = (model.versions ?? []).filter(({is_evaluated: is}) => is);
  if (judged.length === 0) return null;
  const rows = judged.map((each) => ({key: each.version, cells: [
    versionName(each.version),
    [chip(each.promoted ? 'passed' : 'held back', each.promoted ? 'serves' : ''), ' ',
      el('bdi', {}, each.verdict),
      each.findings?.length > 0 && el('ul', {class: 'findings'}, each.findings.map((finding) =>
        el('li', {}, el('bdi', {}, finding))))],
    improvementOf(each),
    count(toNumber(each.effective_sample_size)), count(toCount(each.test_tuples)),
    toCount(each.look) > 0 ? count(toCount(each.look)) : '–', time(each.created_time_us, nowUs),
  ]}));
  const looks = toCount(model.looks);
  return [
    el('h4', {key: 'trainings'}, 'Last trainings'),
    table(`Trainings of ${model.name}`, [{name: 'Version'}, {name: 'Verdict'},
      {name: 'Improvement', number: true, hint: 'Off-policy, over the version that served'},
      {name: 'Effective size', number: true}, {name: 'Test tuples', number: true},
      {name: 'Look', number: true, hint: 'Which look at the test part it was'}, {name: 'When'}],
    rows, {class: 'trainings'}),
    el('p', {class: 'note', key: 'looks'},
        looks > 0 && looksText(model),
        looks > 0 && ['the store has the ledger ', el('code', {}, `${model.name}/looks.jsonl`), '. '],
        'Reports are files: ', el('code', {}, 'sortition-trainer train'), ' writes one with ',
        el('code', {}, '--report=FILE'), `; this judges ${versionName(judged[0].version)} by the log, on a page:`,
        el('code', {class: 'command'}, `sortition-trainer ope --model_store=STORE --model=${model.name} ` +
            `--tuples=${status.sidecar?.tuple_dir || 'TUPLES'} ` +
            `${rewardOptions(judged[0], model.name, status)}` +
            `--policies=version:${judged[0].version} --page=report.html`)),
  ];
}

// Returns what no longer looks as in training.
export function driftOf(model) {
  const heading = el('h4', {key: 'drift'}, 'Drift');
  if (!model.drift?.length) {
    return toCount(model.version) === 0 ? null : [heading, empty('Not measured: the version that serves ' +
        'was trained without a profile of its features, or too few requests came.')];
  }
  const rows = model.drift.map((each) => {
    const index = toNumber(each.index);
    const {level, word} = driftLevel(index);
    return [el('bdi', {}, each.name), each.kind, versionName(each.version),
      bar(index / 0.5, level === 'bad' ? 'much' : ''), short(index), [mark(level), ` ${word}`]];
  });
  return [heading, table(`Drift of ${model.name}`, [{name: 'Of'}, {name: 'Kind'}, {name: 'Version'},
    barColumn, {name: 'Stability index', number: true, hint: 'Above 0.25 is much'}, {name: 'Drift'}],
  rows, {class: 'drift'})];
}
