// What matters most: does it answer, is the log sound, what is each policy worth?
import {timeChart} from './chart.js';
import {el} from './dom.js';
import {count, decimalsOfAll, rate, share, short, toCount, toEstimate, toNumber, trimmed} from './format.js';
import {changesOf, charts} from './history.js';
import {joining, logState, policies, readiness, traffic, training, versionName} from './judge.js';
import {histograms} from './models.js';
import {range, scale, ticks} from './scale.js';
import {empty, mark, section, table, useChip, withInterval} from './tables.js';

// Returns the tiles at the top.
export function overview(status) {
  const tiles = [];
  if (status.server) {
    tiles.push(['Service', readiness(status.server)], ['Log', logState(status.server.spool)]);
  }
  tiles.push(['Rewards', joining(status)]);
  if (status.server) tiles.push(['Traffic', traffic(status.server)], ['Training', training(status.server)]);
  return section('now', 'Now', el('ul', {class: 'tiles'}, tiles.map(([topic, {level, title, text}]) =>
    el('li', {key: topic, class: `tile ${level}`}, mark(level),
        el('div', {}, el('p', {class: 'topic'}, topic), el('p', {class: 'title'}, title),
            el('p', {class: 'text'}, text))))));
}

const mostModels = 4;
let isEverythingShown = false;

const columns = [
  {name: 'Policy'},
  {name: 'Reward', number: true, hint: 'Mean of the tuples, with its confidence interval; rewards are as ' +
      'joined, not clamped to a range'},
  {name: 'Interval'},
  {name: 'Tuples', number: true, hint: 'Decisions joined with what came of them'},
  {name: 'With feedback', number: true},
  {name: 'Effective size', number: true, hint: 'How many decisions of this version the decisions ' +
      'of all versions are worth for judging it'},
  {name: 'Abstains', number: true},
  {name: 'Decisions', number: true, hint: 'Over the last minute'},
];

// Returns the live value of each policy, and how it came about.
export function values(status, refresh) {
  const all = policies(status);
  const byTraffic = [...all].sort((a, b) => busyness(b) - busyness(a));
  const shown = isEverythingShown ? byTraffic : byTraffic.slice(0, mostModels);
  const confidence = all.flatMap(({policies: each}) => each)
      .map(({worth}) => toEstimate(worth?.reward)?.confidence).find((each) => each > 0);
  return section('policies', 'Value of each policy',
      all.length === 0 ? empty('No model has decided anything yet.') : [
        el('p', {class: 'note'}, 'Mean reward of what each version decided',
            confidence ? `, with its ${share(confidence)} interval.` : '.',
            ' Compare versions that had traffic at the same time: rewards change with it.',
            ' Rewards count as reported; training and ', el('code', {}, 'ope'),
            ' can cut them to a range (', el('code', {}, '--clamp_rewards'), ').'),
        shown.map((each) => modelValues(each, status)),
        el('div', {class: 'charts'}, shown.map(({model}) => rewardCharts(model, status, refresh))),
        // A server shows them with its models.
        !status.server && shown.map(({model, policies: each}) => [
          el('h3', {key: `${model}-certain`}, 'How certain ', el('bdi', {}, model), ' is'), histograms(each)]),
      ],
      byTraffic.length > mostModels && el('button', {type: 'button', on: {click: () => {
        isEverythingShown = !isEverythingShown;
        refresh();
      }}}, isEverythingShown ? `Show the ${mostModels} busiest` : `Show all ${byTraffic.length} models`));
}

function busyness({policies: each}) {
  return each.reduce((sum, {traffic: {decisions_per_second: perSecond, decisions} = {}}) =>
    sum + toCount(perSecond) + toCount(decisions) * 1e-12, 0);
}

function modelValues({model, policies: each}, status) {
  const none = status.sidecar ? 'no reward yet' : 'not known';
  const rewards = each.map(({worth}) => toEstimate(worth?.reward));
  const axis = intervalAxis(rewards, rewards[each.findIndex(({serves}) => serves)]);
  const decimals = decimalsOfAll(rewards);
  const rows = each.map(({version, uses, traffic: decided, worth}, i) => {
    const decisions = toCount(decided?.decisions);
    const abstained = decisions > 0 ? toCount(decided.abstentions) / decisions :
      toCount(worth?.abstentions) / toCount(worth?.tuples);
    return {key: version, cells: [
      [el('span', {class: 'version'}, versionName(version)), uses.map((use) => [' ', useChip(use)])],
      withInterval(rewards[i], none, decimals),
      intervalPicture(axis, rewards[i]),
      worth ? count(toCount(worth.tuples)) : '–',
      worth ? share(toCount(worth.with_feedback) / toCount(worth.tuples)) : '–',
      toNumber(worth?.effective_sample_size) > 0 ? count(toNumber(worth.effective_sample_size)) : '–',
      share(abstained),
      decided ? rate(toCount(decided.decisions_per_second)) : '–',
    ]};
  });
  return el('div', {key: model, class: 'model-values'},
      el('h3', {}, el('bdi', {}, model)),
      table(`Policies of ${model}`, columns.map((column) => column.name === 'Interval' ?
        {name: axisPicture(axis), label: 'Interval'} : column), rows, {class: 'policies'}),
      interleaving(model, status));
}

// Who filled a rank follows from models alone, which the trainer reads.
function interleaving(model, status) {
  const given = (status.server?.models ?? []).find(({name}) => name === model)?.serving?.interleave;
  return given && el('p', {class: 'note'}, `Some orders are interleaved with ${versionName(given.version)}. ` +
      'Which of the two users prefer, ', el('code', {}, 'sortition-trainer ope'), ' tells from the log.');
}

function rewardCharts(model, status, refresh) {
  const found = (status.server?.models ?? []).find(({name}) => name === model);
  const reward = charts(status.history, (name, labels) => name === 'reward' && labels.model === model,
      `${model}-`);
  return reward.map((chart) => timeChart({...chart, title: `Reward of ${model}`,
    events: changesOf(found ?? {})}, refresh));
}

// Returns the axis that the intervals of one model share, or null without any.
// `reference` is the value of the version that serves.
function intervalAxis(estimates, reference) {
  const numbers = estimates.filter(Boolean).flatMap(({value, lower, upper}) => [value, lower, upper]);
  if (numbers.length === 0) return null;
  const [low, high] = range(numbers, false);
  const x = scale(low, high, 8, 212);
  return {x, marks: ticks(low, high, 4), reference: reference ? x(reference.value) : NaN};
}

function axisPicture(axis) {
  return [el('span', {class: axis && 'unseen'}, 'Interval'), axis && el('svg', {class: 'interval-axis',
    viewBox: '0 0 220 14', 'aria-hidden': 'true', focusable: 'false'},
  axis.marks.map((at) => el('text', {class: 'tick', x: axis.x(at), y: 11, 'text-anchor': 'middle'},
      trimmed(short(at)))))];
}

function intervalPicture(axis, given) {
  if (!axis || !given) return '–';
  const {x, marks, reference} = axis;
  const [value, lower, upper] = [given.value, given.lower, given.upper].map(x);
  const line = (kind, at) => el('line', {class: kind, x1: at, x2: at, y1: 0, y2: 34});
  return el('svg', {class: 'interval-picture', viewBox: '0 0 220 34', 'aria-hidden': 'true', focusable: 'false'},
      marks.map((at) => line('grid', x(at))),
      Number.isFinite(reference) && line('reference', reference),
      Number.isFinite(lower) && Number.isFinite(upper) &&
          el('path', {class: 'whisker', d: `M${lower} 17H${upper}M${lower} 12V22M${upper} 12V22`}),
      el('circle', {class: 'middle', cx: value, cy: 17, r: 4.5}));
}
