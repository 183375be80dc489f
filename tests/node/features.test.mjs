// What arguments become in a request.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {candidatesOf} from './node_modules/sortition/source/features.js';
import {
  decisionRequest, feedbackArguments, feedbackMessage, rerankArguments, shownRequest,
} from './node_modules/sortition/source/requests.js';
import {Ranker} from './node_modules/sortition/index.js';

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
    [new Float32Array(6), {}, /numFeatures is undefined, must be a divisor/],
    [[[1, 2], [3]], {}, /features\[1\] has 1 numbers, must have 2/],
    [[[1, 'x']], {}, /features\[0\]\[1\] is "x", must be a number/],
    [[], {}, /features are empty, must have at least one candidate/],
    [null, {}, /features are null, must be a Float32Array/],
    [[[1]], {query: {a: 1}}, /query has named columns, must be unset/],
    [[{a: 1}, {a: 'x'}], {}, /features\[1\]\.a is "x" and features\[0\]\.a is 1, must be of one type, or/],
    [[{a: {}}], {}, /features\[0\]\.a is \{\}, must be a number, a string/],
    [[{a: 1}], {types: {a: 'integer'}}, /types\.a is "integer", must be one of number, category, text/],
    [[{a: [1, 2]}, {a: [1]}], {}, /features\[1\]\.a has 1 numbers, must have 2 as features\[0\]\.a has/],
    [[{a: [null, 1]}], {}, /features\[0\]\.a\[0\] is null, must be a number/],
    [[{a: 'hats'}], {types: {a: 'category_set'}}, /features\[0\]\.a is "hats", must be a set or an array of strings/],
    [[{a: 1}], {types: {a: 'toString'}}, /types\.a is "toString", must be one of/],
    [{rowOffsets: [0, 2], columns: [0, 1], values: [null, '7']}, {numFeatures: 2},
      /features\.values\[0\] is null, must be a number/],
  ];
  for (const [features, options, message] of wrong) assert.throws(() => candidatesOf(features, options), message);
});

test('options that are misspelt or out of range are refused, not cut to fit', () => {
  const request = (options) => () => decisionRequest('rank', [[1]], options, {model: ''});
  assert.throws(request({topk: 1}), /^TypeError: topk is not an option of rank; did you mean topK\? Options: topK, /);
  assert.throws(request({k: 1}), /^TypeError: k is not an option of rank\. Options/);
  assert.throws(request({topK: -1}), /topK is -1, must be an integer in \[0, 4294967295\]/);
  assert.throws(request({topK: 1.5}), /topK is 1\.5/);
  assert.throws(request({seed: 2n ** 64n}), /seed is 18446744073709551616n, must be an integer in/);
  assert.equal(request({seed: 2n ** 64n - 1n})().context.seed, '18446744073709551615');
  assert.throws(() => decisionRequest('aggregate', [[1]], {scale: 'x'}, {}),
      /scale is "x", must be one of MIN_MAX, RANK, NONE/);
  assert.throws(() => shownRequest('d', [1.5], {}),
      /shown\[0\] is 1\.5, must be an integer .* the place of a candidate/);
  for (const id of [null, undefined, '', 7, new Set()]) {
    assert.throws(() => shownRequest(id, [0], {}), /decisionId is .*, must be a string with characters/);
    assert.throws(() => feedbackMessage({decisionId: id, reward: 1}), /decisionId is .*, must be a string/);
  }
  assert.throws(request({baseline: {action: [0], log_propensity: -1}}),
      /log_propensity is not an option of baseline; did you mean logPropensity\?/);
  assert.throws(request({baseline: {action: [0], logPropensity: 'x'}}),
      /baseline\.logPropensity is "x", must be a finite/);
  assert.throws(() => feedbackMessage({decisionId: 'd'}), /reward is undefined, loss is undefined, must be one/);
  assert.throws(() => feedbackMessage({decisionId: 'd', reward: NaN}), /reward is NaN, must be a finite number/);
});

test('arguments of a wrong type are refused with their name and value', () => {
  const rows = [{a: 1}, {a: 2}];
  const matrix = [[1], [2]];
  const rank = (features, options = {}) => () => decisionRequest('rank', features, options, {model: ''});
  const aggregate = (scores, options = {}) => () => decisionRequest('aggregate', scores, options, {model: ''});
  const shown = (places, options = {}) => () => shownRequest('d', places, options);
  const feedback = (value) => () => feedbackMessage({decisionId: 'd', ...value});
  const make = (options) => () => new Ranker(options);
  const wrong = [
    [rank(rows, {query: 'hi'}), 'query is "hi", must be an object'],
    [rank(rows, {query: [{a: 1}]}), 'query is [{"a":1}], must be an object'],
    [rank(rows, {query: new Map([['a', 1]])}), 'query is a value of type Map, must be an object, not a Map'],
    [rank(matrix, {query: 'hi'}), 'query is "hi", must be an object'],
    [rank(rows, {query: {a: {}}}), 'query.a is {}, must be a number, a string'],
    [rank(rows, {types: 'text'}), 'types is "text", must be an object'],
    [rank(rows, {numFeatures: 3}), 'numFeatures is 3, must be unset where features are objects'],
    [rank({a: [1, 2]}), 'features are {"a":[1,2]}, must be a Float32Array'],
    [rank('abc'), 'features are "abc", must be'],
    [rank(new Set(rows)), 'features are a value of type Set, must be'],
    [rank([]), 'features are empty, must have at least one candidate'],
    [rank(['abc']), 'features[0] is "abc", must be an object of named columns, or an array of numbers'],
    [rank([1, 2]), 'features[0] is 1, must be an object'],
    [rank([{a: 1}, 5]), 'features[1] is 5, must be an object, as features[0] is'],
    [rank([{a: 1}, [5]]), 'features[1] is [5], must be an object, as features[0] is'],
    [rank([[1], {a: 1}]), 'features[1] is {"a":1}, must be an array of numbers, as features[0] is'],
    [rank([new Map([['a', 1]])]), 'features[0] is a value of type Map, must be'],
    [rank([{a: 'x'}, {a: 5}]), 'features[1].a is 5 and features[0].a is "x", must be of one type, or types.a says'],
    [rank([{a: {b: 1}}], {types: {a: 'text'}}), 'features[0].a is {"b":1}, must be a string'],
    [rank([{a: ['x', null]}]), 'member 1 of features[0].a is null, must be a string'],
    [rank([{a: 5}], {types: {a: 'vector'}}), 'features[0].a is 5, must be an array of numbers'],
    [rank([{a: 10n}]), 'features[0].a is 10n, must be a number'],
    [rank(matrix, {ids: 'ab'}), 'ids is "ab", must be an array of strings or numbers'],
    [rank(matrix, {ids: {a: 1}}), 'ids is {"a":1}, must be an array'],
    [rank(matrix, {ids: ['a', null]}), 'ids[1] is null, must be a string or a number'],
    [rank(matrix, {ids: [true, {}]}), 'ids[0] is true, must be'],
    [rank(matrix, {ids: ['a', {}]}), 'ids[1] is {}, must be'],
    [rank(matrix, {eligible: 'ab'}), 'eligible is "ab", must be an array of true and false'],
    [rank(matrix, {eligible: ['false', 'true']}), 'eligible[0] is "false", must be true or false'],
    [rank(matrix, {eligible: [1, 2]}), 'eligible[1] is 2, must be true or false'],
    [rank(matrix, {attributes: 'xy'}), 'attributes is "xy", must be an object'],
    [rank(matrix, {attributes: {age: 30}}), 'attributes.age is 30, must be a string, such as "30"'],
    [rank(matrix, {unitId: 17}), 'unitId is 17, must be a string, such as "17"'],
    [rank(matrix, {model: {}}), 'model is {}, must be a string'],
    [rank(matrix, {label: true}), 'label is true, must be a string'],
    [rank(matrix, {seed: true}), 'seed is true, must be an integer in [0, 18446744073709551615]'],
    [rank(matrix, {version: 'new'}), 'version is "new", must be an integer'],
    [rank(matrix, {topK: '3'}), 'topK is "3", must be an integer in [0, 4294967295]'],
    [rank(matrix, {scores: 'no'}), 'scores is "no", must be true or false'],
    [rank(matrix, {baseline: '01'}), 'baseline is "01", must be an array of places of candidates'],
    [rank(matrix, {baseline: 1}), 'baseline is 1, must be an array'],
    [rank(matrix, {baseline: ['a']}), 'baseline[0] is "a", must be an integer in [0, 4294967295], the place of'],
    [rank(matrix, {baseline: {action: '01'}}), 'baseline.action is "01", must be an array'],
    [rank(matrix, {baseline: {abstain: 'no'}}), 'baseline.abstain is "no", must be true or false'],
    [rank(matrix, 'topK'), 'the argument options of rank is "topK", must be an object'],
    [rank({rowOffsets: '01', columns: [0], values: [1]}, {numFeatures: 1}), 'features.rowOffsets is "01", must be'],
    [rank({rowOffsets: [0, 1], cols: [0]}, {numFeatures: 1}), 'cols is not an option of sparse features'],
    [aggregate(rows), 'scores[0] is {"a":1}, must be an array of numbers'],
    [aggregate(matrix, {query: {a: 1}}), 'query is not an option of aggregate'],
    [aggregate(matrix, {weights: '12'}), 'weights is "12", must be an array of numbers'],
    [aggregate(matrix, {weights: [true]}), 'weights[0] is true, must be a finite number'],
    [shown('012'), 'shown is "012", must be an array of places of candidates in the request'],
    [shown(3), 'shown is 3, must be an array'],
    [shown(undefined), 'shown is undefined, must be an array'],
    [shown(['a']), 'shown[0] is "a", must be an integer in [0, 4294967295], the place of a candidate in the request'],
    [shown([0], {seenRanks: true}), 'seenRanks is true, must be an integer'],
    [shown([], {notShown: 'no'}), 'notShown is "no", must be true or false'],
    [() => shownRequest({decisionId: 'd'}, [0], {}), 'decisionId is {"decisionId":"d"}, must be a string with char'],
    [feedback({reward: true}), 'reward is true, must be a finite number'],
    [feedback({reward: '1'}), 'reward is "1", must be a finite number'],
    [feedback({loss: 1, rank: true}), 'rank is true, must be an integer'],
    [feedback({reward: 1, feedbackId: 5}), 'feedbackId is 5, must be a string, such as "5"'],
    [feedback({rewrad: 1}), 'rewrad is not an option of feedback; did you mean reward?'],
    [() => feedbackArguments('d', 1), 'the value of feedback is 1, must be an object, such as {reward: 1}'],
    [() => feedbackArguments([{decisionId: 'd', reward: 1}, 5]), 'feedback[1] is 5, must be an object'],
    [() => feedbackArguments(5, {reward: 1}), 'decisionId is 5, must be a string'],
    [make('127.0.0.1:8500'), 'the argument of Ranker is "127.0.0.1:8500", must be an object, such as {addresses: '],
    [make({addresses: 8500}), 'addresses is 8500, must be an array of host:port'],
    [make({addresses: [8500]}), 'addresses[0] is 8500, must be a string, such as "127.0.0.1:8500"'],
    [make({token: 5}), 'token is 5, must be a string'],
    [make({tls: 'yes'}), 'tls is "yes", must be true or an object'],
    [make({tls: {serverName: 5}}), 'tls.serverName is 5, must be a string'],
    [make({tls: {ca: 5}}), 'tls.ca is 5, must be the content of a PEM file'],
    [make({retries: '3'}), 'retries is "3", must be a number, or an object'],
    [make({retries: {firstBackoffMs: '1'}}), 'retries.firstBackoffMs is "1", must be a number'],
    [make({model: 5}), 'model is 5, must be a string'],
    [make({types: 'text'}), 'types is "text", must be an object'],
    [make({routingHeader: 'x'}), 'routingHeader is "x", must be true or false'],
    [make({plaintextTokens: 'no'}), 'plaintextTokens is "no", must be true or false'],
  ];
  for (const [call, words] of wrong) {
    assert.throws(call, (error) => {
      assert.ok(error instanceof TypeError || error instanceof RangeError, error.stack);
      assert.ok(error.message.startsWith(words), `${error.message}\nmust start with\n${words}`);
      return true;
    });
  }
});

test('calls refuse a signal and a deadline of a wrong type before they send anything', async () => {
  const ranker = new Ranker({addresses: '127.0.0.1:1'});
  await assert.rejects(ranker.rank([[1]], {signal: 5}), /^TypeError: signal is 5, must be an AbortSignal/);
  await assert.rejects(ranker.rank([[1]], {deadlineMs: '5'}), /^RangeError: deadlineMs is "5", must be a number of/);
  await assert.rejects(ranker.rank([[1]], 5), /^TypeError: the argument options of rank is 5/);
  await assert.rejects(ranker.aggregate([[1]], {ids: 'a'}), /^TypeError: ids is "a", must be an array/);
  ranker.close();
});

test('null is unset, and what has one meaning is taken', () => {
  const given = Object.fromEntries(['query', 'types', 'ids', 'seed', 'topK', 'unitId', 'baseline', 'attributes',
    'eligible', 'model', 'version', 'label'].map((name) => [name, null]));
  assert.deepEqual(decisionRequest('rank', [{a: 1}], given, {model: 'm'}),
      decisionRequest('rank', [{a: 1}], {}, {model: 'm'}));
  const {context} = decisionRequest('rank', [[1], [2]], {
    ids: new Set([7, 8n]), seed: '18446744073709551615', eligible: [1, 0], baseline: new Uint32Array([1, 0]),
  }, {model: ''});
  assert.deepEqual(context.candidates.ids, ['7', '8']);
  assert.equal(context.seed, '18446744073709551615');
  assert.deepEqual(context.eligible, [true, false]);
  assert.deepEqual(context.baseline, {action: [1, 0], abstain: false});
  const one = {decisionId: 'd', reward: 1, loss: null, rank: null, feedbackId: 'f'};
  const messages = [{decisionId: 'd', feedbackId: 'f', reward: 1}];
  assert.deepEqual(feedbackArguments(one, {deadlineMs: 5}), {messages, deadlineMs: 5});
  assert.deepEqual(feedbackArguments([one], null), {messages});
  assert.equal(feedbackArguments('d', {reward: 1, feedbackId: ''}).messages[0].feedbackId.length, 36);
  assert.deepEqual(shownRequest('d', null, {notShown: true}).shown, []);
});

test('messages show values as JSON, whatever they are', () => {
  const make = (feedback) => () => feedbackMessage({decisionId: 'd', ...feedback});
  assert.throws(make({reward: {value: 1}, loss: {value: 2}}),
      /reward is {"value":1}, loss is {"value":2}, must be one of the two, such as {decisionId, reward: 1}/);
  assert.throws(make({reward: {value: 1}}), /reward is {"value":1}, must be a finite number/);
  assert.throws(make({}), /reward is undefined, loss is undefined, must be one/);
  for (const value of [{a: 1}, [{a: 1}], new Map(), {a: 1n}, Object.create(null), Symbol('s')]) {
    for (const call of [make({reward: value, loss: value}), make({reward: 1, rank: value}),
      () => shownRequest('d', [value], {}), () => feedbackArguments(value, {reward: 1}),
      () => decisionRequest('rank', [[value]], {}, {model: '', types: {}}),
      () => decisionRequest('rank', [[1]], {topK: value}, {model: '', types: {}})]) {
      assert.throws(call, ({message}) => !message.includes('[object '));
    }
  }
});

test('arguments of a rerank have the names of a rerank', () => {
  const make = (documents, options = {}) => () => {
    const [rows, given] = rerankArguments('q', documents, options);
    return decisionRequest('rank', rows, given, {model: '', types: {}}, 'documents');
  };
  assert.throws(make(['a', {text: 5}]), /documents\[1\]\.text is 5 and documents\[0\]\.text is "a"/);
  assert.throws(make(['a', 7]), /documents\[1\] is 7, must be a string, or an object of named columns/);
  assert.throws(make([{query: 'x'}]), /documents\[0\]\.query is "x", must be unset/);
  assert.throws(make([]), /documents are empty/);
  assert.throws(make(['a'], {eligible: 1}), /eligible is 1, must be an array of true and false/);
  assert.throws(make(['a'], {eligible: {}}), /eligible is {}, must be an array/);
  assert.throws(make(['a'], {query: 'x'}), /options\.query is "x", must be an object/);
  assert.throws(make(['a'], 'x'), /options of rerank is "x", must be an object/);
});
