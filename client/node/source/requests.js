// Requests from arguments.
import {candidatesOf} from './features.js';
import {makeId} from './ids.js';
import {checkNames, decisionIdOf, finite, uint32, uint64} from './numbers.js';

const callNames = ['deadlineMs', 'signal'];
const decisionNames = [
  'numFeatures', 'ids', 'query', 'types', 'decisionId', 'model', 'version', 'label', 'eligible', 'seed', 'unitId',
  'attributes', 'baseline', 'scores', 'probabilities', 'game', ...callNames,
];
const ownNames = {
  rank: ['topK'], select: [], label: ['k'],
  aggregate: ['scale', 'weights', 'topK', 'divergence', 'cutoff', 'concentration', 'head', 'uniformMixture',
    'bootstrapSamples', 'confidence'],
};

// Returns the request of a decision without its id. `kind`: a key of ownNames.
export function decisionRequest(kind, features, options, defaults) {
  checkNames(kind, options, [...ownNames[kind], ...decisionNames]);
  const context = contextOf(features, options, defaults);
  if (kind === 'aggregate') return {context, ...aggregation(options)};
  const request = {context};
  for (const name of ownNames[kind]) if (options[name] !== undefined) request[name] = uint32(name, options[name]);
  return request;
}

function contextOf(features, options, defaults) {
  const {version, seed, eligible, attributes, baseline, label, unitId} = options;
  return {
    model: options.model ?? defaults.model,
    ...(version !== undefined && {version: uint64('version', version)}),
    candidates: candidatesOf(features, {...options, types: {...defaults.types, ...options.types}}),
    eligible: Array.from(eligible ?? [], Boolean),
    ...(seed !== undefined && {seed: uint64('seed', seed)}),
    returnScores: Boolean(options.scores),
    returnProbabilities: Boolean(options.probabilities),
    returnGame: Boolean(options.game),
    unitId, attributes: {...attributes}, label,
    ...(baseline !== undefined && {baseline: baselineOf(baseline)}),
  };
}

function baselineOf(baseline) {
  const given = Array.isArray(baseline) ? {action: baseline} : baseline;
  checkNames('baseline', given, ['action', 'abstain', 'logPropensity']);
  const {action = [], abstain = false, logPropensity} = given;
  return {action: action.map((index) => uint32('baseline', index)), abstain,
    ...(logPropensity !== undefined && {logPropensity: finite('baseline.logPropensity', logPropensity)})};
}

const scales = ['MIN_MAX', 'RANK', 'NONE'];
const divergences = ['DCG', 'ALL_PAIRS', 'TOP'];

function aggregation({scale = 'MIN_MAX', divergence = 'DCG', weights = [], ...options}) {
  if (!scales.includes(scale)) throw new RangeError(`scale is ${scale}, must be one of ${scales.join(', ')}`);
  if (!divergences.includes(divergence)) {
    throw new RangeError(`divergence is ${divergence}, must be one of ${divergences.join(', ')}`);
  }
  const finiteWeights = Array.from(weights, (weight) => finite('weights', weight));
  const request = {aggregation: {scale, weights: finiteWeights}, divergence};
  for (const name of ['topK', 'cutoff', 'head', 'bootstrapSamples']) {
    if (options[name] !== undefined) request[name] = uint32(name, options[name]);
  }
  for (const name of ['concentration', 'uniformMixture', 'confidence']) {
    if (options[name] !== undefined) request[name] = finite(name, options[name]);
  }
  return request;
}

export function shownRequest(decisionId, shown, options) {
  checkNames('shown', options, ['firstRank', 'seenRanks', 'notShown', ...callNames]);
  const {firstRank = 0, seenRanks, notShown = false} = options;
  return {decisionId: decisionIdOf(decisionId), shown: Array.from(shown, (index) => uint32('shown', index)), notShown,
    firstRank: uint32('firstRank', firstRank),
    ...(seenRanks !== undefined && {seenRanks: uint32('seenRanks', seenRanks)})};
}

// Returns the message of one feedback, with an id.
export function feedbackMessage(feedback) {
  checkNames('feedback', feedback, ['decisionId', 'reward', 'loss', 'rank', 'feedbackId']);
  const {decisionId, reward, loss, rank, feedbackId = makeId()} = feedback;
  if ((reward === undefined) === (loss === undefined)) {
    throw new TypeError(`reward is ${reward}, loss is ${loss}, must be one of the two`);
  }
  const value = reward === undefined ? {loss: finite('loss', loss)} : {reward: finite('reward', reward)};
  const place = rank === undefined ? {} : {rank: uint32('rank', rank)};
  return {decisionId: decisionIdOf(decisionId), feedbackId, ...value, ...place};
}

export {callNames};
