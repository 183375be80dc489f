// The three calls: their form, and when they are repeated.
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {Sortition, newDecisionId, rankRequest} from '../../../examples/search/sortition.mjs';
import {FakeSortition} from './fake_sortition.mjs';

let fake;
let sortition;
before(async () => {
  fake = await FakeSortition.start();
  sortition = new Sortition(fake.url, {token: 'secret', waitMs: 1});
});
after(async () => {
  sortition.close();
  await fake.stop();
});
beforeEach(() => {
  fake.asked = [];
  fake.troubles = [];
});

const request = rankRequest({decisionId: 'd', question: 'q', sentences: ['a', 'b', 'c'], topK: 10,
  unit: 'u', visitor: 'person'});

test('a request has the columns of the model, and no more ranks than sentences', () => {
  assert.deepEqual(request, {top_k: 3, context: {decision_id: 'd', unit_id: 'u',
    attributes: {visitor: 'person'}, baseline: {}, candidates: {columns: {num_candidates: 3,
      query: [{name: 'question', texts: {values: ['q']}}],
      candidate: [{name: 'sentence', texts: {values: ['a', 'b', 'c']}}]}}}});
});

test('ids differ, and are as long as they may be', () => {
  const ids = new Set(Array.from({length: 1000}, newDecisionId));
  assert.equal(ids.size, 1000);
  for (const id of ids) assert.match(id, /^[0-9a-f-]{36}$/);
});

test('a call carries JSON and the token', async () => {
  await sortition.shown({decision_id: 'd', seen_ranks: 2});
  const [{path, body, headers}] = fake.asked;
  assert.equal(path, '/v1/shown');
  assert.deepEqual(body, {decision_id: 'd', seen_ranks: 2});
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers.authorization, 'Bearer secret');
});

test('a call without an answer is repeated with the same id', async () => {
  fake.troubles = ['hang up', 503];
  const answer = await sortition.rank(request);
  assert.deepEqual(answer.order, [2, 1, 0]);
  assert.deepEqual(fake.asked.map(({body}) => body), [request, request, request]);
});

test('a call is not repeated for ever', async () => {
  fake.troubles = [503, 429, 504, 503];
  await assert.rejects(sortition.rank(request), {code: 504, message: 'NAME: why'});
  assert.equal(fake.asked.length, 3);
});

test('a refused call is not repeated', async () => {
  fake.troubles = [400];
  await assert.rejects(sortition.rank(request), {code: 400, message: 'NAME: why'});
  assert.equal(fake.asked.length, 1);
});

test('nobody there is an error that names the address', async () => {
  const nobody = new Sortition('http://127.0.0.1:1', {waitMs: 1});
  await assert.rejects(nobody.rank(request), {code: 0, message: /^http:\/\/127\.0\.0\.1:1\/v1\/rank: .*REFUSED/});
});
