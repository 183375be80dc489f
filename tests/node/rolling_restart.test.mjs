// A rolling restart of two servers, the death of each, and an outage of one, under
// load: no call fails, and what callers were told is in the logs and nothing else is.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Ranker} from 'sortition';
import {ServerProcess, sortition, tempFolder} from './processes.mjs';

const workers = 16;
const servers = [];
before(async () => {
  for (const id of ['a', 'b']) {
    const options = [`--spool.writer_id=${id}`, '--drain_grace_seconds=0.2'];
    servers.push(await new ServerProcess(tempFolder(), options).start());
  }
});
after(() => Promise.all(servers.map((server) => server.stop('SIGKILL'))));

// Decides and reports until told to stop; every call must succeed.
async function work(ranker, worker, ledger, isOver) {
  for (let turn = 0; !isOver(); ++turn) {
    // Half of the ids are the caller's.
    const decisionId = turn % 2 ? `${worker}-${turn}` : undefined;
    const answer = await ranker.rank([[1, 2], [3, 4], [5, 6]], {decisionId});
    const entry = {order: answer.order, feedback: []};
    assert.ok(!ledger.has(answer.decisionId));
    ledger.set(answer.decisionId, entry);
    await ranker.shown(answer.decisionId, answer.order);
    const feedbackId = `f-${worker}-${turn}`;
    assert.equal(await ranker.feedback(answer.decisionId, {reward: 1, feedbackId}), 1);
    entry.feedback.push(feedbackId);
  }
}

test('restarts, kills and an outage fail no call and lose nothing', async () => {
  const ranker = new Ranker({addresses: servers.map(({address}) => address), anyServer: true});
  const ledger = new Map();
  let isOver = false;
  const load = Promise.all(Array.from({length: workers}, (_, worker) => work(ranker, worker, ledger, () => isOver)));
  const grown = async (more) => {
    const goal = ledger.size + more;
    while (ledger.size < goal) await Promise.race([load, new Promise((resolve) => setImmediate(resolve))]);
  };
  try {
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      for (const server of servers) {
        await grown(150);
        await server.stop(signal);
        await server.start();
      }
    }
    await servers[0].stop();
    await grown(150);
    isOver = true;
    await load;
  } finally {
    // Workers that went on after one has failed would keep the process alive for ever.
    isOver = true;
    ranker.close();
  }
  check(ledger);
});

function check(ledger) {
  const records = servers.flatMap((server) => server.records().map(({record}) => record));
  const decisions = new Map();  // Id → what was decided, and how often it was shown.
  let repeated = 0;
  for (const {decision} of records) {
    if (!decision) continue;
    const {decision_id: id, action} = decision;
    const seen = decisions.get(id);
    // A call whose answer was lost may be in both spools. The join makes one tuple of equal answers.
    if (seen) assert.deepEqual(action, seen.action, `${id} has two answers`);
    repeated += seen !== undefined;
    decisions.set(id, seen ?? {action, shown: 0});
  }
  const feedback = new Set();
  for (const record of records) {
    if (record.feedback) {
      assert.ok(decisions.has(record.feedback.decision_id));
      feedback.add(record.feedback.feedback_id);
    }
    if (record.shown) ++decisions.get(record.shown.decision_id).shown;
  }
  for (const [id, entry] of ledger) {
    assert.deepEqual(decisions.get(id)?.action, entry.order, `${id} was answered so`);
    assert.ok(decisions.get(id).shown >= 1, `${id} was shown`);
    for (const each of entry.feedback) assert.ok(feedback.has(each), `feedback ${each}`);
  }
  assert.equal(decisions.size, ledger.size, 'nothing is logged that nobody was told');
  assert.equal(feedback.size, ledger.size);
  console.log(`${ledger.size} decisions, ${repeated} records of repeated calls`);
  for (const server of servers) sortition(['log', 'verify', `--model_store=${server.folder}/models`, server.spool]);
}
