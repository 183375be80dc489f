// Requests from arguments.
import {
  decisionIdOf, described, documentIndex, finite, flag, isObject, isUnset, list, object, optionsOf, refuse, text, uint32, uint64,
} from './arguments.js';
import {candidatesOf} from './features.js';
import {makeId} from './ids.js';
import {enumNames} from './methods.js';

export const callNames = ['deadlineMs', 'signal'];
const contextNames = [
  'numFeatures', 'ids', 'decisionId', 'model', 'version', 'label', 'eligible', 'seed', 'unitId', 'attributes',
  'baseline', 'scores', 'probabilities', 'game', ...callNames,
];
const aggregateNumbers = {
  topK: uint32, cutoff: uint32, head: uint32, bootstrapSamples: uint32, concentration: finite, uniformMixture: finite,
  confidence: finite,
};
const named = ['query', 'types', ...contextNames];

// Options of each call; index.d.ts has the same (tests/node/types.test.mjs).
export const decisionNames = {
  rank: ['topK', ...named],
  select: named,
  label: ['k', ...named],
  aggregate: ['scale', 'weights', 'divergence', ...Object.keys(aggregateNumbers), ...contextNames],
};
export const shownNames = ['firstRank', 'seenRanks', 'notShown', ...callNames];
export const feedbackNames = ['decisionId', 'reward', 'loss', 'rank', 'index', 'feedbackId'];
export const baselineNames = ['action', 'abstain', 'logPropensity'];

// Returns the request of a decision without its id. `kind`: a key of decisionNames. `name`: what the caller calls
// `features`.
export function decisionRequest(kind, features, options, defaults, name = 'features') {
  const given = optionsOf(kind, options, decisionNames[kind]);
  const request = {context: contextOf(features, given, defaults, kind === 'aggregate' ? 'scores' : name)};
  if (kind === 'aggregate') return {...request, ...aggregation(given)};
  for (const name of ['topK', 'k']) if (name in given) request[name] = uint32(name, given[name]);
  return request;
}

function contextOf(features, options, defaults, name) {
  const {version, seed, eligible, attributes, baseline, label, unitId, model, types} = options;
  return {
    model: model === undefined ? defaults.model : text('model', model),
    ...(version !== undefined && {version: uint64('version', version)}),
    candidates: candidatesOf(features, {...options, types: {...defaults.types, ...object('types', types ?? {})}}, name),
    eligible: eligible === undefined ? [] :
      list('eligible', eligible, 'true and false').map((value, i) => flag(`eligible[${i}]`, value)),
    ...(seed !== undefined && {seed: uint64('seed', seed)}),
    returnScores: flag('scores', options.scores ?? false),
    returnProbabilities: flag('probabilities', options.probabilities ?? false),
    returnGame: flag('game', options.game ?? false),
    ...(unitId !== undefined && {unitId: text('unitId', unitId)}),
    attributes: attributes === undefined ? {} : Object.fromEntries(Object.entries(object('attributes', attributes))
        .map(([key, value]) => [key, text(`attributes.${key}`, value)])),
    ...(label !== undefined && {label: text('label', label)}),
    ...(baseline !== undefined && {baseline: baselineOf(baseline)}),
  };
}

function baselineOf(baseline) {
  const indexes = (name, action) => list(name, action, 'places of candidates in the request')
      .map((index, i) => documentIndex(`${name}[${i}]`, index));
  if (!isObject(baseline)) return {action: indexes('baseline', baseline), abstain: false};
  const {action = [], abstain = false, logPropensity} = optionsOf('baseline', baseline, baselineNames);
  return {action: indexes('baseline.action', action), abstain: flag('baseline.abstain', abstain),
    ...(logPropensity !== undefined && {logPropensity: finite('baseline.logPropensity', logPropensity)})};
}

function oneOf(name, value, known) {
  return known.includes(value) ? value : refuse(name, value, `one of ${known.join(', ')}`, RangeError);
}

function aggregation(options) {
  const {scale = 'MIN_MAX', divergence = 'DCG', weights = []} = options;
  const request = {
    aggregation: {
      scale: oneOf('scale', scale, enumNames('Aggregation', 'Scale')),
      weights: list('weights', weights, 'numbers').map((weight, i) => finite(`weights[${i}]`, weight)),
    },
    divergence: oneOf('divergence', divergence, enumNames('AggregateRequest', 'Divergence')),
  };
  for (const [name, check] of Object.entries(aggregateNumbers)) {
    if (name in options) request[name] = check(name, options[name]);
  }
  return request;
}

// Returns features and options of the call of rank that a rerank is, as POST /v1/rerank: texts are the column `text`,
// the query is the query column `query`, and the given order is the baseline.
export function rerankArguments(query, documents, options) {
  const rows = list('documents', documents, 'texts or objects').map((document, i) => {
    if (typeof document === 'string') return {text: document};
    if (!isObject(document)) refuse(`documents[${i}]`, document, 'a string, or an object of named columns');
    if ('query' in document) refuse(`documents[${i}].query`, document.query, 'unset: the query is the column of this name');
    return document;
  });
  object('the argument options of rerank', options);
  const eligible = isUnset(options.eligible) ? undefined : list('eligible', options.eligible, 'true and false');
  const given = {
    ...options,
    query: {query: text('query', query), ...object('options.query', options.query ?? {})},
    baseline: options.baseline ?? Array.from(rows.keys()).filter((i) => !eligible || eligible[i]),
    ...(eligible && {eligible}),
  };
  if (options.topK > rows.length && rows.length > 0) given.topK = rows.length;
  return [rows, given];
}

export function shownRequest(decisionId, shown, options) {
  const {firstRank = 0, seenRanks, notShown = false} = optionsOf('shown', options, shownNames);
  return {
    decisionId: decisionIdOf(decisionId),
    shown: isUnset(shown) && notShown === true ? [] : list('shown', shown, 'places of candidates in the request')
        .map((index, i) => documentIndex(`shown[${i}]`, index)),
    notShown: flag('notShown', notShown),
    firstRank: uint32('firstRank', firstRank),
    ...(seenRanks !== undefined && {seenRanks: uint32('seenRanks', seenRanks)}),
  };
}

// Returns the message of one feedback, with an id. `name`: what the caller calls it.
export function feedbackMessage(feedback, name = 'feedback') {
  object(name, feedback, 'an object, such as {decisionId, reward: 1}');
  const {decisionId, reward, loss, rank, index, feedbackId = ''} = optionsOf(name, feedback, feedbackNames);
  const id = decisionIdOf(decisionId);
  if ((reward === undefined) === (loss === undefined)) {
    const given = `reward is ${described(reward)}, loss is ${described(loss)}`;
    throw new TypeError(`${given}, must be one of the two, such as {decisionId, reward: 1}`);
  }
  const value = reward === undefined ? {loss: finite('loss', loss)} : {reward: finite('reward', reward)};
  const place = {
    ...(rank !== undefined && {rank: uint32('rank', rank)}),
    ...(index !== undefined && {index: documentIndex('index', index)}),
  };
  return {decisionId: id, feedbackId: text('feedbackId', feedbackId) || makeId(), ...value, ...place};
}

// Returns the messages that the arguments of Ranker.feedback mean, and their
// options: a list of feedback or one, and call options; or a decision id, and its
// value with call options.
export function feedbackArguments(given, options) {
  if (Array.isArray(given) || isObject(given)) {
    const messages = Array.isArray(given) ? given.map((one, i) => feedbackMessage(one, `feedback[${i}]`)) :
        [feedbackMessage(given)];
    return {messages, ...optionsOf('feedback', options ?? {}, callNames)};
  }
  const decisionId = decisionIdOf(given);
  object('the value of feedback', options, 'an object, such as {reward: 1}');
  const {deadlineMs, signal, ...value} = options;
  return {messages: [feedbackMessage({...value, decisionId})], deadlineMs, signal};
}
