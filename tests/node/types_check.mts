// What TypeScript must accept, and, under @ts-expect-error, what it must not.
import {
  CallError, Ranker, UnavailableError, makeId,
  type Aggregation, type Feedback, type Ranking, type Selection, type Subset,
} from 'sortition';

const ranker = new Ranker({
  addresses: ['a:8500', 'b:8500'], token: 'secret', tls: {ca: '', serverName: 'x'}, deadlineMs: 200, retries: 2,
});
const stop = new AbortController();

const ranking: Ranking<string> = await ranker.rank(new Float32Array(4), {numFeatures: 2, ids: ['a', 'b'], topK: 1});
const first: string = ranking.ids[0];
const places: Ranking<number> = await ranker.rank([[1, 2], [3, 4]], {signal: stop.signal, version: 3n});
const place: number = places.ids[0];
const selection: Selection<number> = await ranker.select([{title: 'a', price: 3, tags: new Set(['x'])}],
    {query: {search: 'b'}, types: {title: 'text'}});
if (selection.selected !== null) console.log(selection.selected + 1);
const subset: Subset<number> = await ranker.label({rowOffsets: [0, 1], columns: [0], values: [1]}, {numFeatures: 1, k: 1});
const joint: Aggregation<number> = await ranker.aggregate([[1, 2], [2, 1]], {scale: 'RANK', weights: [1, 2]});
const feedback: Feedback = {decisionId: ranking.decisionId, reward: 1, rank: 0, feedbackId: makeId()};
const texts: Ranking<number> = await ranker.rerank('who?', ['a', {text: 'b', price: 3}], {topK: 1});
await ranker.feedback(texts.decisionId, {reward: 1, index: texts.order[0]});
await ranker.shown(ranking.decisionId, ranking.order, {seenRanks: 1});
const accepted: number = await ranker.feedback([feedback]);
await ranker.feedback(ranking.decisionId, {loss: 1});
try {
  ranker.close();
} catch (error) {
  if (error instanceof UnavailableError) console.log(error.code, error.message, error.attempts);
  if (error instanceof CallError) console.log(error.details, error.decisionId);
}
console.log(first, place, subset.chosen, joint.pairs, accepted);

const perhaps: string[] | undefined = accepted > 0 ? ['a'] : undefined;
const either: Ranking<string | number> = await ranker.rank([[1]], {ids: perhaps});
// Several forms of a baseline and of feedback.
await ranker.rank([[1], [2]], {
  baseline: new Uint32Array([1, 0]), seed: '18446744073709551615', ids: new Set(['a', 'b']),
});
await ranker.feedback({decisionId: 'd', reward: 1}, {deadlineMs: 50});
// @ts-expect-error: a text is no list of ids.
await ranker.rank([[1], [2]], {ids: 'ab'});
// @ts-expect-error: a text has no columns.
await ranker.rank([{price: 1}], {query: 'hi'});
// @ts-expect-error: a text is no list of places.
await ranker.shown('d', '012');
// @ts-expect-error: true is no reward.
await ranker.feedback('d', {reward: true});
// @ts-expect-error: attributes are strings.
await ranker.rank([[1]], {attributes: {age: 30}});
// @ts-expect-error: columns of lists; candidates are a list of objects.
await ranker.rank({price: [1, 2]});
// @ts-expect-error: who may have given ids gets them.
const lie: Ranking<number> = await ranker.rank([[1]], {ids: perhaps});
// @ts-expect-error: scores have no query.
await ranker.aggregate([[1]], {query: {search: 'b'}});
console.log(either, lie);
// @ts-expect-error: misspelt.
await ranker.rank([[1]], {topk: 1});
// @ts-expect-error: flat arrays need numFeatures.
await ranker.rank(new Float32Array(4));
// @ts-expect-error: both, or neither.
await ranker.feedback('d', {reward: 1, loss: 1});
// @ts-expect-error: no such scale.
await ranker.aggregate([[1]], {scale: 'max'});
// @ts-expect-error: a class of its own for each kind of answer.
(await ranker.select([[1]])).order;
// @ts-expect-error: no such option.
new Ranker({server: 'a'});
