// What a status means.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {commands} from '../../web/page/first_steps.js';
import {changesOf, charts} from '../../web/page/history.js';
import * as judge from '../../web/page/judge.js';
import * as statuses from './statuses.mjs';

test('a log with gaps is never called sound', () => {
  const {spool} = statuses.busy().server;
  assert.equal(judge.logState(spool).level, 'good');
  assert.equal(judge.logState({...spool, lost_records: '1'}).level, 'bad');
  for (const state of ['full', 'io_error', 'sync_failed', 'stalled', 'unheard_of']) {
    assert.equal(judge.logState({...spool, state}).level, 'bad', state);
  }
  assert.equal(judge.logState({...spool, refused: '3'}).level, 'warn');
  assert.equal(judge.logState({...spool, disk_free_bytes: '1000'}).level, 'warn');
  assert.equal(judge.logState({...spool, dir: ''}).level, 'warn');
  assert.equal(judge.logState(undefined).level, 'warn');
});

test('a sidecar that is not seen, has a problem or lags is told from one that works', () => {
  const status = statuses.busy();
  assert.equal(judge.joining(status).level, 'good');
  assert.equal(judge.joining({...status, sidecar: {...status.sidecar, problem: 'no room'}}).level, 'bad');
  assert.equal(judge.joining({...status, sidecar: {...status.sidecar, lag_bytes: '99000000'}}).level, 'warn');
  assert.equal(judge.joining({sidecar_problem: 'refused'}).level, 'bad');
  assert.equal(judge.joining({sidecar_problem: ''}).level, 'none');
});

test('a training that fails is told, and one that waits is no failure', () => {
  const of = (...outcomes) => judge.training({models: [{name: 'm', runs: outcomes.map((outcome, i) =>
    ({kind: ['train', 'prune'][i], outcome, verdict: `because ${i}`, next_step: 'Mend it.'}))}]});
  assert.deepEqual(of('FAILED'), {level: 'bad', title: 'Training fails',
    text: 'The last train of m: because 0 Mend it.'});
  assert.equal(of('DONE', 'FAILED').text, 'The last prune of m: because 1 Mend it.');
  assert.equal(of('NOT_YET').level, 'none');
  assert.equal(of('NOTHING_BETTER', 'DONE').level, 'good');
  assert.equal(judge.training({models: [{name: 'm'}]}).title, 'No training yet');
  assert.equal(of('RUNNING').title, 'First training');
});

test('policies join what serves, what decided and what was earned', () => {
  const [answers, home] = judge.policies(statuses.busy());
  assert.equal(answers.model, 'answers');
  // 7 serves; then the newest first.
  assert.deepEqual(answers.policies.map(({version}) => version), ['7', '8', '6']);
  assert.deepEqual(answers.policies[2].uses, ['arm 1000', 'label stable']);
  assert.equal(answers.policies[1].worth, undefined);
  assert.equal(answers.policies[0].worth.tuples, '301244');
  assert.equal(home.policies.length, 1);
  // A sidecar alone knows what was earned.
  const own = judge.policies(statuses.ofSidecar());
  assert.deepEqual(own.map(({model}) => model), ['answers', 'home']);
});

test('only important changes are said aloud', () => {
  const before = statuses.busy();
  const after = statuses.busy();
  after.server.spool.records = '9999999';
  assert.deepEqual(judge.importantChanges(before, after), []);
  after.server.spool.state = 'stalled';
  after.server.models[0].version = '8';
  after.sidecar.problem = 'the disk is full';
  const said = judge.importantChanges(before, after);
  assert.equal(said.length, 3);
  assert.match(said[0], /stalled/);
  assert.equal(said[1], 'answers: version 8 serves now.');
  assert.match(said[2], /the disk is full/);
  const gone = statuses.busy();
  delete gone.sidecar;
  gone.sidecar_problem = 'cannot connect';
  assert.deepEqual(judge.importantChanges(before, gone), ['Sidecar not seen. cannot connect']);
});

test('a rollback goes where the server would go', () => {
  const [model] = statuses.busy().server.models;
  assert.equal(judge.rollbackTarget(model), 7, 'a split ends first');
  const whole = {...model, serving: {...model.serving, split: undefined}};
  assert.equal(judge.rollbackTarget(whole), 6);
  const left = {...whole, serving: {...whole.serving, rolled_back_versions: ['6', '5']}};
  assert.equal(judge.rollbackTarget(left), null, 'version 4 cannot be read');
});

test('the share of an arm is that of all its places', () => {
  const arm = {version: '6', ranges: [{begin: 1000, end: 1500}, {begin: 9000, end: 9025}]};
  assert.deepEqual([...judge.shares({split: {arms: [arm]}})], [[6, 525]]);
  assert.equal(judge.shares(undefined).size, 0);
});

test('a newcomer is led from the first call to the first model', () => {
  assert.deepEqual(judge.stepsDone(statuses.fresh()),
      {ask: false, report: false, join: false, train: false});
  assert.deepEqual(judge.stepsDone(statuses.firstDecision()),
      {ask: true, report: false, join: false, train: false});
  assert.equal(judge.stepsDone(statuses.busy()), null);
  assert.equal(judge.stepsDone(statuses.ofSidecar()), null);
});

test('the first call is JSON that a shell passes on as it is', () => {
  const lines = commands('http://127.0.0.1:8503', {needs_token: true}, '');
  const body = JSON.parse(lines.ask.match(/-d '([^']*)'$/)[1]);
  const {num_features: width, dense} = body.context.candidates;
  assert.equal(dense.values.length % width, 0);
  assert.ok(body.top_k <= dense.values.length / width);
  assert.deepEqual(body.context.baseline, {});  // The order that came.
  assert.match(lines.ask, /authorization: Bearer TOKEN/);
  const feedback = JSON.parse(lines.report.match(/-d '([^']*)'$/)[1]);
  assert.equal(feedback.feedback[0].decision_id, body.context.decision_id);
});

test('charts tell lines apart by the label that differs', () => {
  const {history} = statuses.busy();
  const found = charts(history, (name, labels) => labels.model === 'answers' || labels.method !== undefined);
  assert.deepEqual(found.map(({id}) => id),
      ['reward', 'decisions_per_second', 'requests_per_second', 'p50_seconds', 'p99_seconds']);
  assert.deepEqual(found[0].series.map(({name}) => name), ['version 6', 'version 7']);
  assert.ok(Number.isNaN(found[0].series[1].values[0]), '"NaN" is no number');
  assert.deepEqual(charts({times_us: ['1'], series: []}, () => true), []);
  // A series that nobody has heard of is shown, too.
  const times = ['1', '2'];
  const [unheard] = charts({times_us: times, series: [{name: 'new_figure', labels: {a: 'b'}, unit: 's',
    values: [1, 2], lower: [], upper: []}]}, () => true);
  assert.equal(unheard.title, 'New figure');
  assert.equal(unheard.series[0].name, 'b');
});

test('changes of what serves are ascending events', () => {
  const events = changesOf(statuses.busy().server.models[0]);
  assert.deepEqual(events.map(({name}) => name), ['pin 6', 'pin 7']);
  assert.ok(events[0].time < events[1].time);
});
