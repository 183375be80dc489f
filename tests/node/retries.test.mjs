// Retries, deadlines and cancellation, against a server that says what the test
// wants.
import assert from 'node:assert/strict';
import {before, after, beforeEach, test} from 'node:test';
import {
  CancelledError, DeadlineExceededError, InvalidArgumentError, Ranker, ResourceExhaustedError, UnavailableError,
} from 'sortition';
import {FakeServer, status} from './fake_server.mjs';

let fake;
let ranker;
before(async () => {
  fake = await FakeServer.start();
  ranker = new Ranker({addresses: fake.address, token: 'secret', routingHeader: true,
    retries: {firstBackoffMs: 1, maxBackoffMs: 2}});
});
after(() => {
  ranker.close();
  fake.stop();
});
beforeEach(() => fake.reset());

test('a decision is repeated with the id that was made for it', async () => {
  fake.errors = [status.UNAVAILABLE, status.UNAVAILABLE];
  const answer = await ranker.rank([[1, 2]]);
  assert.equal(fake.calls.length, 3);
  assert.match(answer.decisionId, /^[0-9a-f]{8}-/);
  for (const {request} of fake.calls) assert.equal(request.context.decisionId, answer.decisionId);
});

test('feedback without an id gets one, which a repetition keeps', async () => {
  fake.errors = [status.UNAVAILABLE];
  const both = [{decisionId: 'a', reward: 1}, {decisionId: 'a', loss: 2, feedbackId: 'mine'}];
  assert.equal(await ranker.feedback(both), 2);
  const [first, second] = fake.calls.map(({request}) => request.feedback.map(({feedbackId}) => feedbackId));
  assert.deepEqual(first, second);
  assert.equal(first[1], 'mine');
  assert.match(first[0], /^[0-9a-f]{8}-/);
});

test('calls carry the token, the id for load balancers, and a deadline', async () => {
  await ranker.rank([[1]], {decisionId: 'q-17', deadlineMs: 30000});
  const [{metadata, deadline}] = fake.calls;
  assert.deepEqual(metadata.get('authorization'), ['Bearer secret']);
  assert.deepEqual(metadata.get('x-sortition-decision-id'), ['q-17']);
  assert.ok(deadline - Date.now() > 10000 && deadline - Date.now() < 31000, `${deadline}`);
});

test('CANCELLED by the server, as its port closes, is repeated', async () => {
  fake.errors = [status.CANCELLED];
  await ranker.rank([[1]]);
  assert.equal(fake.calls.length, 2);
});

test('an overloaded server is asked again when it wants to be', async () => {
  fake.errors = [status.RESOURCE_EXHAUSTED];
  const start = performance.now();
  const {decisionId} = await ranker.rank([[1]]);
  assert.ok(performance.now() - start >= 250);
  assert.deepEqual(fake.calls.map(({request}) => request.context.decisionId), [decisionId, decisionId]);
});

test('other codes are not repeated; the error has the hint of an overloaded server', async () => {
  fake.errors = [status.RESOURCE_EXHAUSTED, status.INVALID_ARGUMENT];
  fake.pushbackMs = 60000;
  await assert.rejects(() => ranker.rank([[1]], {deadlineMs: 59999}), (error) =>
    error instanceof ResourceExhaustedError && error.attempts === 1 && error.details === 'as the test wants' &&
      error.retryAfterMs === 60000 && error.decisionId !== '');
  await assert.rejects(() => ranker.rank([[1]]), InvalidArgumentError);
  assert.equal(fake.calls.length, 2);
});

test('the attempts that were allowed are made, and counted in the error', async () => {
  const twice = new Ranker({addresses: fake.address, retries: 1});
  fake.errors = Array(9).fill(status.UNAVAILABLE);
  await assert.rejects(() => twice.feedback('d', {reward: 1}), (error) => error instanceof UnavailableError &&
      error.attempts === 2 && / \(2 attempts\)$/.test(error.message) && error.feedback[0].feedbackId.length === 36);
  assert.equal(fake.calls.length, 2);
  twice.close();
});

test('a deadline ends a call that gets no answer', async () => {
  fake.isSilent = true;
  await assert.rejects(() => ranker.select([[1]], {deadlineMs: 50}), DeadlineExceededError);
});

test('an AbortSignal ends a call at once, for the server too, and is not repeated', async () => {
  fake.isSilent = true;
  const stop = new AbortController();
  const call = ranker.rank([[1]], {signal: stop.signal, deadlineMs: 60000});
  await fake.called();
  stop.abort(new Error('the user left'));
  await assert.rejects(call, (error) => error instanceof CancelledError && error.code === 'CANCELLED' &&
      error.cause.message === 'the user left');
  await fake.cancelled();
  assert.equal(fake.calls.length, 1);
  // One that has ended sends nothing.
  await assert.rejects(() => ranker.rank([[1]], {signal: stop.signal}), CancelledError);
  assert.equal(fake.calls.length, 1);
});

test('an AbortSignal ends the pause before a retry', async () => {
  const slow = new Ranker(
      {addresses: fake.address, deadlineMs: 3e8, retries: {firstBackoffMs: 1e8, maxBackoffMs: 1e8}});
  fake.errors = [status.UNAVAILABLE];
  const stop = new AbortController();
  const call = slow.rank([[1]], {signal: stop.signal});
  await fake.called();
  stop.abort();
  await assert.rejects(call, CancelledError);
  assert.equal(fake.calls.length, 1);
  slow.close();
});

test('close ends what is under way, and refuses what comes later', async () => {
  fake.isSilent = true;
  const one = new Ranker({addresses: fake.address});
  const call = one.rank([[1]]);
  await fake.called();
  one.close();
  await assert.rejects(call, CancelledError);
  await assert.rejects(() => one.rank([[1]]), (error) =>
    error instanceof CancelledError && /the Ranker is closed/.test(error.message));
});

test('retries of a name that stands for several servers stay with the one that was reached', async () => {
  // 127.1 is a name for gRPC, which the C library resolves without a file of hosts.
  const named = new Ranker({addresses: `127.1:${fake.port}`, retries: {firstBackoffMs: 1, maxBackoffMs: 1}});
  fake.errors = [status.UNAVAILABLE, status.UNAVAILABLE];
  await named.rank([[1]]);
  // The first by the name; the others by a connection of their own to that address.
  assert.equal(fake.calls.length, 3);
  assert.notEqual(fake.calls[1].peer, fake.calls[0].peer);
  assert.equal(fake.calls[2].peer, fake.calls[1].peer);
  assert.deepEqual(fake.calls.map(({host}) => host), Array(3).fill(`127.1:${fake.port}`));
  named.close();
});

test('what reached no server is decided by another one, under its id', async () => {
  const gone = await FakeServer.start();
  gone.stop();
  const two = new Ranker({addresses: [fake.address, gone.address]});
  const answers = await Promise.all(Array.from({length: 40}, () => two.rank([[1]])));
  assert.equal(new Set(answers.map(({decisionId}) => decisionId)).size, 40);
  assert.deepEqual(fake.calls.map(({request}) => request.context.decisionId).sort(),
      answers.map(({decisionId}) => decisionId).sort());
  two.close();
});

test('a server that does not serve gets no new decision until it does', async () => {
  const other = await FakeServer.start();
  const two = new Ranker({addresses: [fake.address, other.address]});
  other.setHealth('NOT_SERVING');
  await other.watched(two, false);
  for (let i = 0; i < 30; ++i) await two.rank([[1]]);
  assert.equal(other.calls.length, 0);
  assert.equal(fake.calls.length, 30);
  // Reports go to the server of their decision all the same.
  const ids = Array.from({length: 40}, (_, i) => `${i}`);
  await two.feedback(ids.map((decisionId) => ({decisionId, reward: 1})));
  assert.ok(other.calls.length === 1 && other.calls[0].request.feedback.length > 0);
  other.setHealth('SERVING');
  await other.watched(two, true);
  other.reset();
  for (let i = 0; i < 40; ++i) await two.rank([[1]]);
  assert.ok(other.calls.length > 0);
  two.close();
  other.stop();
});
