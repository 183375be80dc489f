// Answers of calls.
import {fromUint64} from './arguments.js';

function decision({result}) {
  const {decisionId, model, logPropensity, scores, probabilities, degraded, game} = result;
  return {
    decisionId, model: model.name, version: fromUint64(model.version),
    logPropensity, propensity: Math.exp(logPropensity), degraded,
    scores: scores.length > 0 ? scores : null,
    probabilities: probabilities.length > 0 ? probabilities : null,
    game, armProbability: result.armProbability, isBaseline: result.isBaseline,
    interleavedVersion: fromUint64(result.interleavedVersion),
  };
}

// Ids are those of the answer; places in the request where it has none.
function idsOf(places, ids) {
  return ids.length > 0 ? ids : [...places];
}

export function ranking(response) {
  const {order, orderIds, conditionalLogPropensities} = response;
  return {...decision(response), order, ids: idsOf(order, orderIds), conditionalLogPropensities};
}

export function selection(response) {
  const {selected = null, selectedId, abstained, abstainProbability} = response;
  return {...decision(response), selected, id: selectedId || selected, abstained, abstainProbability};
}

export function subset(response) {
  const {chosen, chosenIds} = response;
  return {...decision(response), chosen, ids: idsOf(chosen, chosenIds)};
}

// An aggregation answers without ids: `ids` are those of the request.
export function aggregation(response, ids) {
  const {order, conditionalLogPropensities, divergences, totalVariation, pairs} = response;
  return {...decision(response), order, ids: idsOf(order, ids && order.map((place) => ids[place]) || []),
    conditionalLogPropensities, divergences, totalVariation, pairs};
}
