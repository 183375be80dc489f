// The arithmetic of charts.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import * as scales from '../../web/page/scale.js';

test('a scale maps its ends, and one value alone to the start', () => {
  const y = scales.scale(0, 10, 100, 0);
  assert.deepEqual([0, 5, 10].map(y), [100, 50, 0]);
  assert.equal(scales.scale(3, 3, 10, 20)(3), 10);
});

test('ticks are round, ascending and inside', () => {
  assert.deepEqual(scales.ticks(0, 1, 4), [0, 0.5, 1]);
  assert.deepEqual(scales.ticks(0.07, 0.33, 5), [0.1, 0.2, 0.3]);
  assert.deepEqual(scales.ticks(-12, 12, 4), [-10, 0, 10]);
  assert.deepEqual(scales.ticks(2, 2, 4), [2]);
  // Whatever the range: at most twice as many as asked for, all inside.
  for (let low = -3; low < 3; low += 0.37) {
    for (const width of [1e-6, 0.013, 1, 77, 1e9]) {
      const found = scales.ticks(low, low + width, 4);
      assert.ok(found.length >= 2 && found.length <= 8, `${low} ${width}: ${found}`);
      assert.ok(found.every((each) => each >= low - width * 1e-6 && each <= low + width * (1 + 1e-6)));
    }
  }
});

test('ticks of bytes are whole in their unit', () => {
  const mebi = 1024 ** 2;
  assert.deepEqual(scales.byteTicks(0, 3 * mebi, 4), [0, mebi, 2 * mebi, 3 * mebi]);
  assert.deepEqual(scales.byteTicks(0, 1, 4), [0, 1]);
});

test('ticks end, however close or far apart the ends are', () => {
  assert.deepEqual(scales.ticks(1e16, 1e16 + 2, 5), [1e16, 1e16 + 2]);
  const year = 365 * 86400e6;
  assert.ok(scales.timeTicks(0, 56 * year, 7).length <= 8);
});

test('ticks of time are round on the clock of the reader', () => {
  const from = new Date(2026, 2, 3, 13, 5, 7).getTime() * 1000;
  const to = from + 3600e6;
  const found = scales.timeTicks(from, to, 7).map((each) => new Date(each / 1000));
  assert.deepEqual(found.map((each) => each.getMinutes()), [10, 20, 30, 40, 50, 0]);
  assert.ok(found.every((each) => each.getSeconds() === 0));
});

test('a range holds what is finite, and is never empty', () => {
  const [low, high] = scales.range([NaN, 2, 4, Infinity], false);
  assert.ok(low < 2 && low > 1 && high > 4 && high < 5);
  assert.deepEqual(scales.range([NaN], false), [0, 1]);
  assert.deepEqual(scales.range([0, 0], true), [0, 1]);
  assert.equal(scales.range([3, 5], true)[0], 0);
  const [a, b] = scales.range([7, 7], false);
  assert.ok(a < 7 && b > 7);
});

test('a band that is wide at first does not squeeze the lines', () => {
  const series = [{values: [0.5, 0.5, 0.6], lower: [-9, 0.4, 0.55], upper: [9, 0.6, 0.65]}];
  const [low, high] = scales.rangeOfBands(series, false);
  assert.ok(low < 0.5 && high > 0.65, 'the last band is inside');
  assert.ok(high - low < 0.4, 'the first one is not');
});

test('lines have gaps where a value is not known', () => {
  assert.equal(scales.linePath([0, 1, 2, 3], [5, 6, NaN, 7]), 'M0 5L1 6M3 7h0');
  assert.equal(scales.linePath([0, 1], [NaN, NaN]), '');
  // Two points of a band make an area; one alone does not.
  assert.equal(scales.bandPath([0, 1, 2, 3], [1, 1, NaN, 1], [2, 2, 2, 2]), 'M0 2L1 2L1 1L0 1Z');
});

test('labels keep their order and do not meet', () => {
  assert.deepEqual(scales.spread([10, 50], 12, 0, 100), [10, 50]);
  const found = scales.spread([50, 52, 51], 12, 0, 100);
  assert.ok(found[0] + 12 <= found[2] && found[2] + 12 <= found[1], `${found}`);
  const atEdge = scales.spread([99, 98], 12, 0, 100);
  assert.ok(atEdge[0] <= 100 && atEdge[1] <= 88);
});

test('the nearest number is found as by looking at all', () => {
  const numbers = [1, 2, 4, 8, 16];
  for (let wanted = -1; wanted < 20; wanted += 0.3) {
    const distances = numbers.map((each) => Math.abs(each - wanted));
    assert.equal(distances[scales.nearest(numbers, wanted)], Math.min(...distances));
  }
  assert.equal(scales.nearest([], 3), -1);
});
