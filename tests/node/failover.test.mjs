// Several addresses, of which one fails in every way that a server can.
import assert from 'node:assert/strict';
import {after, beforeEach, test} from 'node:test';
import {CallError, InvalidArgumentError, Ranker, UnavailableError} from 'sortition';
import {securityOf} from './node_modules/sortition/source/security.js';
import {
  answersPerRetry, maxMoved, Servers,
} from './node_modules/sortition/source/servers.js';
import {FakeServer, status} from './fake_server.mjs';
import {RawServer} from './raw_server.mjs';

const good = await FakeServer.start();
const draining = await FakeServer.start();
after(() => [good, draining].forEach((server) => server.stop()));
beforeEach(() => [good, draining].forEach((server) => server.reset()));

const quick = {firstBackoffMs: 0, maxBackoffMs: 0};

// Returns the id of a decision that belongs to the first address.
function idOfFirst(addresses) {
  const servers = new Servers(addresses, securityOf());
  let i = 0;
  while (servers.of(`${i}`).address !== addresses[0]) ++i;
  servers.close();
  return `${i}`;
}

const ids = (server) => server.calls.map(({request}) =>
  request.context?.decisionId ?? request.decisionId ?? request.feedback[0].decisionId);

for (const kind of ['refused', 'UNAVAILABLE', 'CANCELLED', 'overloaded', 'reset', 'goaway', 'silence', 'deaf']) {
  test(`a decision goes to the next server with its id: ${kind}`, async () => {
    let bad = draining;
    if (kind === 'refused') {
      bad = await FakeServer.start();
      bad.stop();
    } else if (['reset', 'goaway', 'silence', 'deaf'].includes(kind)) {
      bad = await RawServer.start(kind);
    } else {
      draining.error = kind === 'overloaded' ? status.RESOURCE_EXHAUSTED : status[kind];
      draining.pushbackMs = 60000;
    }
    const addresses = [bad.address, good.address];
    const decisionId = idOfFirst(addresses);
    // Without an answer an attempt takes half of it.
    const ranker = new Ranker({addresses, deadlineMs: 4000});
    try {
      assert.equal((await ranker.rank([[1]], {decisionId})).decisionId, decisionId);
      assert.deepEqual(ids(draining), bad === draining ? [decisionId] : []);
      // Reports go to the server that decided.
      await ranker.shown(decisionId, [0]);
      assert.equal(await ranker.feedback(decisionId, {reward: 1}), 1);
      assert.deepEqual(ids(good), [decisionId, decisionId, decisionId]);
    } finally {
      ranker.close();
      if (bad !== draining) bad.stop();
    }
  });
}

test('an error names every address and why', async () => {
  const deaf = await RawServer.start('deaf');
  draining.error = status.UNAVAILABLE;
  const addresses = [deaf.address, draining.address];
  const ranker = new Ranker({addresses, deadlineMs: 8000, retries: {maxAttempts: 1}});
  await assert.rejects(() => ranker.rank([[1]], {decisionId: idOfFirst(addresses)}), (error) =>
    error instanceof UnavailableError && error.message.replace(/\d+ ms/, 'N ms') ===
      `server ${deaf.address}: DEADLINE_EXCEEDED: no answer within N ms; ` +
      `server ${draining.address}: UNAVAILABLE: as the test wants (2 attempts)` &&
      error.tried.length === 2 && error.tried[0].server === deaf.address);
  ranker.close();
  deaf.stop();
});

test('what a server answers is not asked elsewhere', async () => {
  draining.error = status.INVALID_ARGUMENT;
  const addresses = [draining.address, good.address];
  const ranker = new Ranker({addresses});
  await assert.rejects(() => ranker.rank([[1]], {decisionId: idOfFirst(addresses)}), InvalidArgumentError);
  assert.equal(good.calls.length, 0);
  ranker.close();
});

test('reports wait for the server of their decision, unless all logs are joined', async () => {
  draining.error = status.UNAVAILABLE;
  const addresses = [draining.address, good.address];
  const decisionId = idOfFirst(addresses);
  const stays = new Ranker({addresses, retries: {...quick, maxAttempts: 3}});
  await assert.rejects(() => stays.shown(decisionId, [0]), UnavailableError);
  await assert.rejects(() => stays.feedback(decisionId, {reward: 1}), (error) => error.attempts === 3);
  assert.deepEqual([draining.calls.length, good.calls.length], [6, 0]);
  stays.close();
  const moves = new Ranker({addresses, anyServer: true});
  await moves.shown(decisionId, [0]);
  assert.equal(await moves.feedback(decisionId, {reward: 1}), 1);
  assert.deepEqual(ids(good), [decisionId, decisionId]);
  moves.close();
});

test('further rounds are bounded by attempts and by the budget', async () => {
  const both = [draining, good];
  const addresses = both.map(({address}) => address);
  const attempts = async (ranker) => {
    both.forEach((server) => { server.error = status.UNAVAILABLE; });
    const error = await ranker.rank([[1]]).then(() => assert.fail('was answered'), (reason) => reason);
    assert.ok(error instanceof CallError, error);
    both.forEach((server) => { server.error = undefined; });
    return error.attempts;
  };
  const twice = new Ranker({addresses, retries: {...quick, maxAttempts: 2}});
  assert.equal(await attempts(twice), 4);
  twice.close();
  const poor = new Ranker({addresses, retries: {...quick, budget: 3}});
  assert.equal(await attempts(poor), 5);  // Each server once, and the budget.
  assert.equal(await attempts(poor), 2);
  for (let i = 0; i < answersPerRetry; ++i) await poor.rank([[1]]);
  assert.equal(await attempts(poor), 3);
  poor.close();
});

// By a clock of the test.
test('a server that failed is avoided for longer and longer, and tried by one call', () => {
  let now = 1000;
  const addresses = ['a:1', 'b:1'];
  const servers = new Servers(addresses, securityOf(), {now: () => now});
  const [a, b] = servers.all;
  const decisionId = idOfFirst(addresses);
  for (const pause of [200, 400, 800, 1600, 3200, 6400, 10000, 10000]) {
    servers.begin(a);
    for (let i = 0; i < 20; ++i) servers.failed(a);  // As one failure.
    assert.deepEqual(servers.route(decisionId), [b, a]);
    now += pause - 1;
    assert.deepEqual(servers.route(decisionId), [b, a]);
    ++now;
    assert.deepEqual(servers.route(decisionId), [a, b]);
  }
  servers.begin(a);
  assert.deepEqual(servers.route(decisionId), [b, a]);
  assert.equal(servers.of(servers.newDecisionId()), b);
  servers.answered(a);
  assert.deepEqual(servers.route(decisionId), [a, b]);
  servers.failed(a);
  servers.failed(b);
  assert.deepEqual(servers.route(decisionId), [a, b], 'all are away');
  servers.close();
});

test('the servers of the last decisions that moved are remembered', () => {
  const addresses = ['a:1', 'b:1'];
  const servers = new Servers(addresses, securityOf());
  const [a, b] = servers.all;
  const decisionId = idOfFirst(addresses);
  servers.decided(decisionId, b);
  assert.deepEqual(servers.route(decisionId), [b, a]);
  for (let i = 0, moved = 0; moved < maxMoved; ++i) {
    if (servers.of(`other-${i}`) !== a) continue;
    servers.decided(`other-${i}`, b);
    ++moved;
  }
  assert.equal(servers.of(decisionId), a);
  servers.close();
});

test('options of failover are checked', () => {
  assert.throws(() => new Ranker({anyServer: "x"}), /anyServer is "x"/);
  assert.throws(() => new Ranker({retries: {budget: -1}}), /retries.budget is -1, must be an integer of at least 0/);
});
