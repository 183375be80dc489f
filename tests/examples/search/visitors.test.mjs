// Simulated visitors: their clicks, their reports, their rate.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Sortition} from '../../../examples/search/sortition.mjs';
import {Visitors, clickOf, readFromTop} from '../../../examples/search/visitors.mjs';
import {FakeSortition} from './fake_sortition.mjs';

// Returns the numbers one after the other.
const numbers = (...values) => () => values.shift();

test('a visitor reads from the top, and leaves after a click', () => {
  // Not attracted by the first, reads on; the right answer attracts at 0.89.
  assert.deepEqual(readFromTop([0, 1, 1], numbers(0.05, 0.69, 0.89)), {seen: 2, clicked: 1});
  // A wrong answer attracts, too.
  assert.deepEqual(readFromTop([0, 1], numbers(0.049)), {seen: 1, clicked: 0});
});

test('a visitor gives up, or comes to the end', () => {
  assert.deepEqual(readFromTop([0, 1], numbers(0.5, 0.7)), {seen: 1, clicked: -1});
  assert.deepEqual(readFromTop([0, 1], numbers(0.5, 0.1, 0.95, 0.1)), {seen: 2, clicked: -1});
});

// A stream of numbers in [0, 1) [mulberry32's constants], the same each time.
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('clicks have the probabilities of the model', () => {
  const random = generator(1);
  const clicks = [0, 0, 0];
  const visits = 100000;
  for (let i = 0; i < visits; ++i) {
    const {clicked} = readFromTop([0, 1, 0], random);
    if (clicked >= 0) ++clicks[clicked];
  }
  // Rank 0: 0.05. Rank 1: 0.95 · 0.7 · 0.9. Rank 2: 0.95 · 0.7 · 0.1 · 0.7 · 0.05.
  const expected = [0.05, 0.5985, 0.0023275];
  expected.forEach((p, rank) => {
    // Five standard deviations: a chance of 1 in a million, once for this seed.
    const bound = 5 * Math.sqrt(p * (1 - p) / visits);
    assert.ok(Math.abs(clicks[rank] / visits - p) < bound, `rank ${rank}: ${clicks[rank]}`);
  });
});

test('a visit is a decision, a report of what was seen, and a click', async () => {
  const fake = await FakeSortition.start();
  const sortition = new Sortition(fake.url);
  const questions = [{question: 'q', sentences: ['right', 'wrong'], labels: [1, 0]}];
  // The question; the unit; the wrong one is first: reads on; clicks the right one.
  const visitors = new Visitors(sortition, questions, 10, numbers(0.5, 0.5, 0.9, 0, 0));
  await visitors.visit();
  const [{context}] = fake.bodies('/v1/rank');
  assert.equal(context.unit_id, 'simulated-50000');
  assert.deepEqual(context.attributes, {visitor: 'simulated'});
  assert.deepEqual(fake.bodies('/v1/shown'), [{decision_id: context.decision_id, seen_ranks: 2}]);
  assert.deepEqual(fake.bodies('/v1/feedback'), [{feedback: [
    {feedback_id: `${context.decision_id}-click-1`, decision_id: context.decision_id, reward: 1, rank: 1}]}]);
  assert.deepEqual(visitors.state().versions, [{version: '3', visitors: 1, share: 1}]);

  fake.troubles = [400];
  visitors.random = () => 0.5;
  await visitors.visit();
  assert.equal(visitors.state().failed, 1);
  assert.equal(visitors.state().trouble, 'NAME: why');
  assert.equal(visitors.running, 0);
  sortition.close();
  await fake.stop();
});

test('a repeated click has the same id', () => {
  assert.deepEqual(clickOf('d', 2), clickOf('d', 2));
  assert.notEqual(clickOf('d', 2).feedback_id, clickOf('d', 1).feedback_id);
});

test('the rate is kept, and no crowd gathers', () => {
  const visitors = new Visitors(null, [], 10);
  visitors.visit = () => { ++visitors.running; };
  visitors.rate = 100;
  visitors.last = 0;
  visitors.due = 0;
  visitors.tick(105);  // 10.5 are due.
  assert.equal(visitors.running, 10);
  visitors.tick(110);  // And half of one.
  assert.equal(visitors.running, 11);
  visitors.tick(100000);  // Nearly 10,000, of whom 32 find room.
  assert.equal(visitors.running, 32);
  visitors.running = 0;
  visitors.tick(100010);
  assert.equal(visitors.running, 1);
});

test('a rate outside its range is refused', () => {
  const visitors = new Visitors(null, [], 10);
  for (const rate of [-1, 501, NaN, 'many', null, undefined]) {
    assert.throws(() => visitors.setRate(rate), /must be in \[0, 500\]/, String(rate));
  }
  assert.equal(visitors.timer, undefined);
});
