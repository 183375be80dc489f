// The client against a real server.
import assert from 'node:assert/strict';
import {mkdirSync} from 'node:fs';
import {after, before, test} from 'node:test';
import * as client from 'sortition';
import {ServerProcess, sortition, tempFolder, trainer} from './processes.mjs';

let server;
let ranker;
before(async () => {
  const folder = tempFolder();
  // On a busy machine a thousand requests wait for longer than callers are used to.
  server = new ServerProcess(folder, ['--admission.max_wait_seconds=60', '--admission.target_wait_seconds=60']);
  fitModel(folder);
  await server.start();
  ranker = new client.Ranker({addresses: server.address});
});
after(async () => {
  ranker?.close();
  await server?.stop();
});

// A model that ranks by the first of two features.
function fitModel(folder) {
  // A model without versions ranks whatever it gets.
  mkdirSync(`${folder}/models/texts`, {recursive: true});
  const lines = [];
  for (let query = 0; query < 40; ++query) {
    for (let i = 0; i < 4; ++i) lines.push(`${i % 2} qid:${query} 1:${i % 2} 2:${(query * 7 + i * 3) % 5 / 5}`);
  }
  trainer(['fit', `--data=${folder}/labelled.letor`, `--model_store=${folder}/models`, '--action=rank'],
      {[`${folder}/labelled.letor`]: lines.join('\n')});
}

const features = [[0.9, 0.1], [0.2, 0.7], [0.4, 0.4], [0.05, 0.95]];

// Asks the command line for the same decision.
function byCommand(command, request) {
  return JSON.parse(sortition([command, `--server=${server.address}`, '--output=json'], JSON.stringify(request)));
}

test('rank answers what `sortition rank` answers for the same seed', async () => {
  for (let seed = 1; seed <= 8; ++seed) {
    const {result, ...expected} = byCommand('rank', {top_k: 3, context: {
      seed, return_scores: true, return_probabilities: true, eligible: [true, true, false, true],
      candidates: {num_features: 2, ids: ['a', 'b', 'c', 'd'], dense: {values: features.flat()}}}});
    const answer = await ranker.rank(features, {topK: 3, seed, ids: ['a', 'b', 'c', 'd'], scores: true,
      probabilities: true, eligible: [true, true, false, true]});
    assert.equal(answer.version, 1);
    assert.deepEqual(answer.order, expected.order);
    assert.deepEqual(answer.ids, expected.order_ids);
    assert.equal(answer.logPropensity, result.log_propensity);
    assert.deepEqual(answer.conditionalLogPropensities, expected.conditional_log_propensities);
    assert.deepEqual(answer.scores, result.scores);
    assert.deepEqual(answer.probabilities, result.probabilities);
    // The three ways to give a matrix are one.
    const flat = await ranker.rank(new Float32Array(features.flat()),
        {numFeatures: 2, topK: 3, seed, eligible: [1, 1, 0, 1]});
    assert.deepEqual(flat.ids, answer.order);
    const sparse = await ranker.rank({rowOffsets: [0, 2, 4, 6, 8], columns: [0, 1, 0, 1, 0, 1, 0, 1],
      values: features.flat()}, {numFeatures: 2, topK: 3, seed, eligible: [true, true, false, true]});
    assert.equal(sparse.logPropensity, answer.logPropensity);
  }
});

test('the same id has the same answer, and is logged once more at most', async () => {
  const first = await ranker.rank(features, {decisionId: 'again'});
  const second = await ranker.rank(features, {decisionId: 'again'});
  assert.deepEqual(second, first);
  assert.ok(Math.abs(first.propensity - Math.exp(first.logPropensity)) < 1e-15);
});

test('aggregate answers what `sortition aggregate` answers, and knows the ids', async () => {
  const scores = [[3, 0.5], [2, 0.9], [1, 0.1]];
  const expected = byCommand('aggregate', {aggregation: {scale: 'RANK', weights: [1, 2]}, divergence: 'ALL_PAIRS',
    bootstrap_samples: 50, context: {seed: 7, candidates: {num_features: 2, dense: {values: scores.flat()}}}});
  const answer = await ranker.aggregate(scores,
      {ids: ['x', 'y', 'z'], scale: 'RANK', weights: [1, 2], divergence: 'ALL_PAIRS', bootstrapSamples: 50, seed: 7});
  assert.deepEqual(answer.order, expected.order);
  assert.deepEqual(answer.ids, expected.order.map((place) => 'xyz'[place]));
  assert.deepEqual(answer.divergences, expected.divergences);
  assert.equal(answer.pairs.length, 2);
});

test('refusals have a class, a code, and the server\'s words', async () => {
  const refused = [
    [() => ranker.rank([[1, NaN]]), client.InvalidArgumentError, 'INVALID_ARGUMENT', /row 0, column 1\) is nan/],
    [() => ranker.rank([[1, 2, 3]]), client.InvalidArgumentError, 'INVALID_ARGUMENT', /num_features = 3: must be 2/],
    [() => ranker.rank(features, {topK: 0}), client.InvalidArgumentError, 'INVALID_ARGUMENT', /top_k = 0: must be/],
    [() => ranker.rank(features, {model: 'none'}), client.NotFoundError, 'NOT_FOUND', /none/],
    [() => ranker.rank(features, {version: 77}), client.FailedPreconditionError, 'FAILED_PRECONDITION', /77/],
    [() => ranker.rank(features, {label: 'gone'}), client.FailedPreconditionError, 'FAILED_PRECONDITION', /gone/],
    [() => ranker.select(features), client.FailedPreconditionError, 'FAILED_PRECONDITION', /./],
    [() => ranker.shown('x'.repeat(129), [0]), client.InvalidArgumentError, 'INVALID_ARGUMENT', /129/],
    [() => ranker.feedback('x'.repeat(129), {reward: 1}), client.InvalidArgumentError, 'INVALID_ARGUMENT', /129/],
  ];
  for (const [call, type, code, words] of refused) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof type && error instanceof client.CallError, error.stack);
      assert.equal(error.code, code);
      assert.match(error.details, words);
      assert.ok(error.message.includes(server.address) && error.message.includes(error.details));
      assert.equal(error.attempts, 1);
      return true;
    });
  }
});

test('options of the Ranker are checked', () => {
  const make = (options) => () => new client.Ranker(options);
  assert.throws(make({server: 'a:1'}), /server is not an option of Ranker\. Options: addresses/);
  assert.throws(make({deadlineMs: 0}), /deadlineMs is 0, must be a number of milliseconds in \(0, 2147483647\]/);
  assert.throws(make({retries: -1}), /retries\.maxAttempts is 0, must be an integer of at least 1/);
  assert.throws(make({retries: {firstBackoffMs: 9, maxBackoffMs: 3}}),
      /firstBackoffMs is 9, must be in \[0, maxBackoffMs = 3\]/);
  assert.throws(make({token: 'a b'}), /token must be visible ASCII/);
  assert.throws(make({token: 'a', addresses: ['localhost:1', '10.0.0.1:8500']}),
      /a server is 10\.0\.0\.1:8500: it must be on this machine, or have tls, or plaintextTokens/);
  for (const more of [{addresses: ['localhost:1', '127.0.0.1:1', '[::1]:1', 'unix:/tmp/x']}, {tls: true},
    {plaintextTokens: true}]) {
    new client.Ranker({token: 'a', addresses: 'ranking.example:8500', ...more}).close();
  }
  assert.throws(make({tls: {cert: 'x'}}), /tls\.key is unset, must be given with the other/);
  assert.throws(make({tls: {ca: 'ca.pem'}}), /tls\.ca must be the content of a PEM file/);
});

test('1,000 requests in flight are all answered, each with its own answer', async () => {
  const ids = Array.from({length: 1000}, (_, i) => `flight-${i}`);
  const answers = await Promise.all(ids.map((decisionId, i) =>
    ranker.rank(features, {decisionId, ids: [`a${i}`, `b${i}`, `c${i}`, `d${i}`], deadlineMs: 60000})));
  answers.forEach((answer, i) => {
    assert.equal(answer.decisionId, ids[i]);
    assert.deepEqual(answer.ids, answer.order.map((place) => `${'abcd'[place]}${i}`));
  });
  const logged = server.records().flatMap(({record}) => record.decision ? [record.decision.decision_id] : []);
  assert.equal(logged.filter((id) => id.startsWith('flight-')).length, 1000);
});

test('named columns, shown and feedback are logged as they were given', async () => {
  const other = await new ServerProcess(tempFolder()).start();
  const one = new client.Ranker({addresses: other.address, types: {brand: 'category'}});
  const answer = await one.select([{price: 3.5, brand: 'Acme', title: 'Red shoes'}, {price: null, title: 'Laces'}],
      {query: {search: 'shoes'}, unitId: 'u1', attributes: {country: 'de'}});
  assert.equal(answer.propensity, 0.5);
  assert.equal(answer.id, answer.selected);
  await one.shown(answer.decisionId, [answer.selected], {seenRanks: 1});
  assert.equal(await one.feedback(answer.decisionId, {reward: 0.5, feedbackId: 'f1'}), 1);
  assert.equal(await one.feedback([{decisionId: answer.decisionId, loss: 2, rank: 1}]), 1);
  one.close();
  const records = other.records().map(({record}) => record);
  await other.stop();
  const {decision} = records.find((record) => record.decision);
  assert.equal(decision.unit_id, 'u1');
  assert.deepEqual(decision.attributes, {country: 'de'});
  assert.deepEqual(decision.columns.candidate.map(({name}) => name), ['price', 'brand', 'title']);
  assert.deepEqual(decision.columns.candidate[1], {name: 'brand', missing: [1], categories: {values: ['Acme', '']}});
  const {shown} = records.find((record) => record.shown);
  assert.deepEqual([shown.shown, shown.seen_ranks], [[answer.selected], 1]);
  assert.deepEqual(records.flatMap(({feedback}) => feedback ? [[feedback.reward, feedback.rank]] : []),
      [[0.5, undefined], [-2, 1]]);
});

test('rerank is rank with the columns of POST /v1/rerank', async () => {
  const documents = ['It rains.', 'Jane Austen did.', {text: 'no one', tags: ['a', 'b']}];
  const column = (name, rest) => ({name, ...rest});
  const request = (topK) => ({...(topK && {top_k: topK}), context: {
    decision_id: `rerank-${topK}`, model: 'texts', baseline: {action: [0, 1, 2]},
    candidates: {columns: {num_candidates: 3, candidate: [
      column('text', {texts: {values: ['It rains.', 'Jane Austen did.', 'no one']}}),
      column('tags', {missing: [0, 1], category_sets: {offsets: [0, 0, 0, 2], values: ['a', 'b']}}),
    ], query: [column('query', {texts: {values: ['who?']}})]}},
  }});
  for (const topK of [undefined, 2]) {
    const {result, order} = byCommand('rank', request(topK));
    const answer = await ranker.rerank('who?', documents,
        {decisionId: `rerank-${topK}`, model: 'texts', topK: topK ?? 10});
    assert.deepEqual(answer.order, order);
    assert.equal(answer.logPropensity, result.log_propensity);
  }
  const records = (kind) => server.records().map(({record}) => record[kind])
      .filter((record) => record?.decision_id === 'rerank-2');
  const logged = records('decision');
  assert.deepEqual({...logged[1], time_us: 0}, {...logged[0], time_us: 0});
  assert.equal(await ranker.feedback('rerank-2', {reward: 1, index: 1}), 1);
  assert.equal(records('feedback')[0].index, 1);
  await assert.rejects(ranker.rerank('who?', 'text'), /documents/);
  await assert.rejects(ranker.rerank(undefined, documents), /query/);
});
