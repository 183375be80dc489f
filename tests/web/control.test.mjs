// Requests that change what serves.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import * as control from '../../web/page/control.js';
import {problemOf} from '../../web/page/session.js';
import * as statuses from './statuses.mjs';

const [model, home] = statuses.busy().server.models;

test('a change names the change that was seen', () => {
  assert.deepEqual(control.changeRequest(model, 'because', control.pinPlan(model, '6').change),
      {model: 'answers', reason: 'because', expected_change: '12', pin: {version: '6'}});
  // Nothing was changed so far.
  assert.equal(control.changeRequest({name: 'new'}, 'x', {unpin: {}}).expected_change, '0');
});

test('a split has the arms that get something', () => {
  assert.deepEqual(control.splitChange(new Map([[8, 500], [6, 1000], [5, 0]])),
      {set_split: {arms: [{version: '8', parts: 500}, {version: '6', parts: 1000}]}});
});

test('shares are places of 10,000, or refused', () => {
  assert.equal(control.parsePlaces('10.5'), 1050);
  assert.equal(control.parsePlaces('0.29'), 29);  // 0.29 * 100 is not 29 exactly.
  assert.equal(control.parsePlaces('100'), 10000);
  assert.equal(control.parsePlaces(''), 0);
  for (const wrong of ['-1', '100.01', '0.001', 'x', '1e9']) {
    assert.ok(Number.isNaN(control.parsePlaces(wrong)), wrong);
  }
});

test('plans say what is before and after', () => {
  const plan = control.rollbackPlan(home);
  assert.equal(plan.verb, 'Roll back to version 1');
  assert.deepEqual(plan.change, {rollback: {version: '1'}});
  assert.deepEqual(plan.before[0], ['Serves now', 'version 2 (the newest)']);
  assert.deepEqual(control.unpinPlan(model).change, {unpin: {}});
  // 8 loads and is the newest.
  assert.match(control.unpinPlan(model).after[0][1], /^version 8 /);
});

test('errors are told as the server tells them', () => {
  assert.equal(problemOf(409, '{"code":10,"message":"change is 13"}'), 'change is 13');
  assert.equal(problemOf(400, '{"error":{"message":"no"}}'), 'no');
  assert.equal(problemOf(413, 'too large\n'), 'too large');
  assert.match(problemOf(502, ''), /502/);
});
