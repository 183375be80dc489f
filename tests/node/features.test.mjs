// What arguments become in a request.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {candidatesOf} from './node_modules/sortition/source/features.js';
import {decisionRequest, feedbackMessage, shownRequest} from './node_modules/sortition/source/requests.js';

// Little-endian floats: 1 is 0x3f800000, 2 is 0x40000000, -2 is 0xc0000000.
const bytes = Buffer.from('0000803f000000400000804000000000000000c00000003f', 'hex');
const numbers = [1, 2, 4, 0, -2, 0.5];

test('dense features are packed floats, whatever holds them', () => {
  const expected = {numFeatures: 2, dense: {packed: bytes}};
  assert.deepEqual(candidatesOf(new Float32Array(numbers), {numFeatures: 2}), expected);
  assert.deepEqual(candidatesOf(new Float64Array(numbers), {numFeatures: 2}), expected);
  assert.deepEqual(candidatesOf([[1, 2], [4, 0], [-2, 0.5]]), expected);
  assert.deepEqual(candidatesOf([new Float32Array([1, 2]), [4, 0], [-2, 0.5]]), expected);
  // A part of a larger buffer.
  const large = new Float32Array([9, ...numbers, 9]);
  assert.deepEqual(candidatesOf(large.subarray(1, 7), {numFeatures: 2}), expected);
});

test('an array that is reused afterwards does not change the request', () => {
  const reused = new Float32Array(numbers);
  const candidates = candidatesOf(reused, {numFeatures: 2, ids: [7, 'b', 'c']});
  reused.fill(0);
  assert.deepEqual(candidates, {numFeatures: 2, dense: {packed: bytes}, ids: ['7', 'b', 'c']});
});

test('sparse rows go as they are', () => {
  const rows = {rowOffsets: [0, 1, 1], columns: new Uint32Array([4]), values: [0.5]};
  assert.deepEqual(candidatesOf(rows, {numFeatures: 9}),
      {numFeatures: 9, sparse: {rowOffsets: [0, 1, 1], columns: [4], values: [0.5]}});
});

test('objects are named columns, and what they lack is missing', () => {
  const {columns} = candidatesOf([
    {price: 3, title: 'a', tags: new Set(['y', 'x']), place: [1, 2], brand: 'B', sold: true},
    {price: null, title: undefined, place: new Float32Array([3, 4]), tags: ['z'], sold: false},
    {brand: null, title: ''},
  ], {query: {search: 'shoes', hour: 7}, types: {brand: 'category'}});
  assert.equal(columns.numCandidates, 3);
  assert.deepEqual(columns.candidate, [
    {name: 'price', numbers: {values: [3, NaN, NaN]}},
    {name: 'title', missing: [1], texts: {values: ['a', '', '']}},
    {name: 'tags', missing: [2], categorySets: {offsets: [0, 2, 3, 3], values: ['x', 'y', 'z']}},
    {name: 'place', missing: [2], vectors: {size: 2, values: [1, 2, 3, 4, 0, 0]}},
    {name: 'brand', missing: [1, 2], categories: {values: ['B', '', '']}},
    {name: 'sold', numbers: {values: [1, 0, NaN]}},
  ]);
  assert.deepEqual(columns.query, [
    {name: 'search', missing: [], texts: {values: ['shoes']}}, {name: 'hour', numbers: {values: [7]}},
  ]);
});

test('columns may have the names of what every object has', () => {
  const {columns} = candidatesOf([{constructor: 1, a: 2}, {a: 3}], {query: {toString: 4}, types: {a: 'number'}});
  assert.deepEqual(columns.candidate.map(({name, numbers}) => [name, ...numbers.values]),
      [['constructor', 1, NaN], ['a', 2, 3]]);
  assert.deepEqual(columns.query.map(({name, numbers}) => [name, ...numbers.values]), [['toString', 4]]);
});

test('features that are wrong are refused with name, value and range', () => {
  const wrong = [
    [new Float32Array(6), {numFeatures: 4}, /numFeatures is 4, must be a divisor of the 6 values/],
    [new Float32Array(6), {}, /numFeatures is undefined/],
    [[[1, 2], [3]], {}, /features\[1\] has 1 numbers, must have 2/],
    [[[1, 'x']], {}, /features\[0\]\[1\] is x, must be a number/],
    [[], {}, /features have 0 rows/],
    [null, {}, /features are null, must be a Float32Array/],
    [[[1]], {query: {a: 1}}, /query has named columns, must be unset/],
    [[{a: 1}, {a: 'x'}], {}, /column a has "x", must be numbers/],
    [[{a: {}}], {}, /column a has \[object Object\], must be a number, a string/],
    [[{a: 1}], {types: {a: 'integer'}}, /types\.a is integer, must be one of number, category, text/],
    [[{a: [1, 2]}, {a: [1]}], {}, /column a has 1 numbers in row 1, must have 2/],
    [[{a: [null, 1]}], {}, /column a has null, must be a number/],
    [[{a: 'hats'}], {types: {a: 'category_set'}}, /column a has "hats", must be sets or arrays of strings/],
    [[{a: 1}], {types: {a: 'toString'}}, /types\.a is toString, must be one of/],
    [{rowOffsets: [0, 2], columns: [0, 1], values: [null, '7']}, {numFeatures: 2}, /values has null, must be a number/],
  ];
  for (const [features, options, message] of wrong) assert.throws(() => candidatesOf(features, options), message);
});

test('options that are misspelt or out of range are refused, not cut to fit', () => {
  const request = (options) => () => decisionRequest('rank', [[1]], options, {model: ''});
  assert.throws(request({topk: 1}), /topk is no option of rank, must be one of topK/);
  assert.throws(request({k: 1}), /k is no option of rank/);
  assert.throws(request({topK: -1}), /topK is -1, must be an integer in \[0, 4294967295\]/);
  assert.throws(request({topK: 1.5}), /topK is 1\.5/);
  assert.throws(request({seed: 2n ** 64n}), /seed is 18446744073709551616, must be an integer in/);
  assert.equal(request({seed: 2n ** 64n - 1n})().context.seed, '18446744073709551615');
  assert.throws(() => decisionRequest('aggregate', [[1]], {scale: 'x'}, {}), /scale is x, must be one of MIN_MAX/);
  assert.throws(() => shownRequest('d', [1.5], {}), /shown is 1\.5/);
  for (const id of [null, undefined, '', 7, new Set()]) {
    assert.throws(() => shownRequest(id, [0], {}), /decisionId is .*, must be a string with characters/);
    assert.throws(() => feedbackMessage({decisionId: id, reward: 1}), /decisionId is .*, must be a string/);
  }
  assert.throws(request({baseline: {action: [0], log_propensity: -1}}), /log_propensity is no option of baseline/);
  assert.throws(request({baseline: {action: [0], logPropensity: 'x'}}), /baseline\.logPropensity is x, must be a finite/);
  assert.throws(() => feedbackMessage({decisionId: 'd'}), /reward is undefined, loss is undefined, must be one/);
  assert.throws(() => feedbackMessage({decisionId: 'd', reward: NaN}), /reward is NaN, must be a finite number/);
});
