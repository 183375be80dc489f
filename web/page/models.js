// Each model: what serves and why, what its versions did, how it was trained.
import {timeChart} from './chart.js';
import {confirmChange, editSplit, pinPlan, rollbackPlan, unpinPlan} from './control.js';
import {el} from './dom.js';
import {bytes, count, places, rate, share, short, toCount, toNumber} from './format.js';
import {charts} from './history.js';
import {policies, rollbackTarget, shares, versionName} from './judge.js';
import {bar, barColumn, empty, facts, histogram, section, table, time, useChip} from './tables.js';
import {driftOf, runsOf, trainingsOf} from './training.js';

const modes = {
  ONLINE: 'online: the model decides', APPRENTICE: "apprentice: the caller's baseline decides",
  EXPLORE_ABOVE_BASELINE: 'explores above the baseline', OFF: 'off: the baseline alone decides',
  SHADOW: 'shadow: the baseline decides, the model looks on',
};

const open = new Map();  // From a model's name to whether it is open.

// Returns the section. `page`: {nowUs, refresh(), canChange, changed(answer)}.
export function modelSection(status, page) {
  const models = status.server.models ?? [];
  const worths = new Map(policies(status).map((each) => [each.model, each.policies]));
  return section('models', 'Models',
      !page.canChange && el('p', {class: 'note'}, status.server.has_control ?
        'Sign in to pin, split or roll back.' :
        'What serves is changed with "sortition models", on the control port.'),
      models.length === 0 ? empty('No model has a name yet: the first request makes one.') :
        models.map((model, i) => {
          const isOpen = open.get(model.name) ?? (i === 0 || models.length <= 2);
          return el('details', {key: model.name, class: 'model', open: isOpen, on: {toggle: (event) => {
            if (open.get(model.name) === event.target.open) return;
            open.set(model.name, event.target.open);
            page.refresh();
          }}},
          el('summary', {}, el('h3', {}, el('bdi', {}, model.name)), ' ',
              el('span', {class: 'note'}, `${versionName(model.version)} serves`)),
          isOpen && body(model, status, worths.get(model.name), page));
        }),
      further(status.server.further_models, 'models', 'They have less traffic.'));
}

// Says what the status leaves out.
function further(number, things, why) {
  return toCount(number) > 0 && el('p', {class: 'note'}, `Further ${things}: ${count(toCount(number))}. ${why}`);
}

function body(model, status, decided, page) {
  return el('div', {class: 'model-body'},
      model.serving_error && el('p', {class: 'problem'}, model.serving_error),
      el('div', {class: 'columns'},
          el('div', {}, el('h4', {}, 'What serves'), servingFacts(model, page.nowUs),
              page.canChange && model.versions?.length > 0 && buttons(model, page)),
          el('div', {}, el('h4', {}, 'Who gets what'), split(model))),
      el('div', {class: 'charts'}, charts(status.history, (name, labels) => labels.model === model.name &&
          name !== 'reward', `model-${model.name}-`).map((chart) => timeChart(chart, page.refresh))),
      el('h4', {}, 'How certain the policies are'), histograms(decided),
      el('h4', {}, 'Versions'), versions(model, page),
      further(model.further_versions, 'versions', 'They are older, and not used.'),
      runsOf(model, page.nowUs), trainingsOf(model, status, page.nowUs), driftOf(model), changeLog(model, page.nowUs));
}

function servingFacts(model, nowUs) {
  const serving = model.serving ?? {};
  const pinned = toCount(serving.pinned_version);
  const last = model.history?.[0];
  return facts([
    ['Serves', toCount(model.version) > 0 ? `${versionName(model.version)}, ${model.policy}` :
      'the uniform policy'],
    ['Because', pinned > 0 ? 'it is pinned' : toCount(model.version) > 0 ?
      'it is the newest that loads' : 'no version is loaded: uniformly at random'],
    ['Mode', mode(serving)],
    ['Labels', (serving.labels ?? []).map(({name, version}) => `${name}: ${versionName(version)}`)
        .join(', ')],
    ['Shadows', (serving.shadows ?? []).map(({version, every}) =>
      `${versionName(version)}, one decision in ${every}`).join('; ')],
    ['Interleaving', interleaving(serving.interleave)],
    ['Last change', last ? [time(Date.parse(last.time) * 1000, nowUs), ` by ${last.caller || 'nobody named'}: `,
      el('bdi', {}, last.reason)] : ''],
  ]);
}

function mode({mode: name = 'ONLINE', explore_parts: parts}) {
  const text = modes[name] ?? name;
  return name === 'EXPLORE_ABOVE_BASELINE' ? `${text}, ${places(toCount(parts))} of decisions` : text;
}

function interleaving(given) {
  if (!given) return '';
  const method = String(given.method ?? '').toLowerCase().replaceAll('_', ' ');
  return `with ${versionName(given.version)}, ${places(toCount(given.parts))} of units, ${method}`;
}

function split(model) {
  const arms = [...shares(model.serving)];
  const rest = 10000 - arms.reduce((sum, [, parts]) => sum + parts, 0);
  const rows = [[toCount(model.version), rest], ...arms].map(([version, parts], i) =>
    [versionName(version), bar(parts / 10000), places(parts), rateOf(model, version), i === 0 ? 'serves' : 'arm']);
  return table(`Traffic of ${model.name}`, [{name: 'Version'}, barColumn, {name: 'Share', number: true},
    {name: 'Now', number: true}, {name: 'As'}], rows, {class: 'split'});
}

function rateOf(model, version) {
  const found = (model.traffic ?? []).find((each) => toCount(each.version) === version);
  return found ? rate(toCount(found.decisions_per_second)) : '–';
}

function buttons(model, page) {
  const target = rollbackTarget(model);
  const button = (text, click, isOff, why) => el('button', {type: 'button', disabled: isOff,
    title: isOff && why, on: {click}}, text, el('span', {class: 'unseen'}, ` ${model.name}`));
  return el('div', {class: 'buttons'},
      button('Roll back …', () => confirmChange(model, rollbackPlan(model), page.changed),
          target === null, 'There is no version to go back to'),
      button('Split …', () => editSplit(model, page.changed),
          (model.versions ?? []).length < 2, 'There is only one version'),
      toCount(model.serving?.pinned_version) > 0 &&
          button('Unpin …', () => confirmChange(model, unpinPlan(model), page.changed)));
}

// Returns the histograms of the policies of one model.
export function histograms(decided) {
  const found = (decided ?? []).flatMap(({version, traffic, worth}) => {
    const name = versionName(version);
    return [
      histogram(`Propensity, ${name}`, traffic?.propensities ?? worth?.propensities),
      histogram(`Entropy in nats, ${name}`, traffic?.entropies) ?? meanEntropy(name, worth),
    ].map((each, i) => each && el('div', {key: `${version}-${i}`}, each));
  }).filter(Boolean);
  return found.length > 0 ? el('div', {class: 'histograms'}, found) :
    empty('Nothing was decided since the start.');
}

function meanEntropy(name, worth) {
  const mean = toNumber(worth?.mean_entropy);
  return Number.isFinite(mean) ? el('p', {class: 'note'}, `Entropy of ${name}: ${short(mean)} nats on average.`) :
    null;
}

function versions(model, page) {
  if (!model.versions?.length) {
    return empty('The store has no version of this model: it answers uniformly at random. ',
        el('code', {}, 'sortition-trainer train'), ' makes one from the log, ',
        el('code', {}, 'sortition-trainer fit'), ' from labelled queries.');
  }
  const columns = [{name: 'Version'}, {name: 'Used as'}, {name: 'Learner'}, {name: 'Made'},
    {name: 'From', number: true}, {name: 'Size', number: true}, {name: 'Comment'}];
  if (page.canChange) columns.push({name: 'Change'});
  return table(`Versions of ${model.name}`, columns, model.versions.map((each) => {
    const isPinned = toCount(model.serving?.pinned_version) === toCount(each.version);
    const cells = [
      versionName(each.version),
      each.error ? el('span', {class: 'problem'}, each.error) :
        (each.uses ?? []).length ? each.uses.map((use) => [useChip(use), ' ']) : 'not used',
      el('bdi', {}, each.learner), time(each.created_time_us, page.nowUs),
      toCount(each.parent_version) > 0 ? versionName(each.parent_version) : '–',
      toCount(each.bytes) > 0 ? bytes(toNumber(each.bytes)) : '–', each.comment ? el('bdi', {}, each.comment) : '–',
    ];
    if (page.canChange) {
      cells.push(isPinned ? 'pinned' : each.error ? '–' : el('button', {type: 'button', class: 'small',
        on: {click: () => confirmChange(model, pinPlan(model, each.version), page.changed)}}, 'Pin …',
      el('span', {class: 'unseen'}, ` ${versionName(each.version)} of ${model.name}`)));
    }
    return {key: each.version, cells};
  }));
}

function changeLog(model, nowUs) {
  if (!model.history?.length) return null;
  return el('details', {key: 'changes'}, el('summary', {}, `Changes of what serves (${model.history.length})`),
      table(`Changes of ${model.name}`, [{name: 'Change', number: true}, {name: 'When'}, {name: 'Who'},
        {name: 'Pinned', number: true}, {name: 'Split'}, {name: 'Reason'}], model.history.map((each) => ({
        key: each.change, cells: [each.change, time(Date.parse(each.time) * 1000, nowUs),
          each.caller ? el('bdi', {}, each.caller) : '–',
          toCount(each.pinned_version) > 0 ? versionName(each.pinned_version) : 'none',
          [...shares(each)].map(([version, parts]) => `${share(parts / 10000)} to ${versionName(version)}`)
              .join(', ') || 'none',
          el('bdi', {}, each.reason)],
      }))));
}
