// The server of the page: what it asks Sortition, and what it refuses.
import assert from 'node:assert/strict';
import {request} from 'node:http';
import {after, before, beforeEach, test} from 'node:test';
import {Api} from '../../../examples/search/api.mjs';
import {createPages} from '../../../examples/search/pages.mjs';
import {QuestionIndex} from '../../../examples/search/questions.mjs';
import {Sortition} from '../../../examples/search/sortition.mjs';
import {FakeSortition} from './fake_sortition.mjs';

let fake;
let sortition;
let pages;
let port;
before(async () => {
  fake = await FakeSortition.start();
  sortition = new Sortition(fake.url, {waitMs: 1});
  const index = new QuestionIndex([{question: 'Why?', sentences: ['a', 'b', 'c'], labels: [0, 0, 1]}]);
  pages = createPages(new Api({sortition, index, visitors: null, status: fake.url}));
  await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
  ({port} = pages.address());
});
after(async () => {
  sortition.close();
  pages.closeAllConnections();
  pages.close();
  await fake.stop();
});
beforeEach(() => {
  fake.asked = [];
  fake.troubles = [];
});

// fetch() would not send a Host of our own.
function ask(method, path, {body = '', headers = {}} = {}) {
  return new Promise((resolve, reject) => {
    const asked = request({host: '127.0.0.1', port, method, path, headers: {
      'content-type': 'application/json', ...headers}}, async (response) => {
      let text = '';
      for await (const part of response) text += part;
      resolve({code: response.statusCode, text, headers: response.headers});
    });
    asked.on('error', reject);
    asked.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
}

const post = async (path, body) => {
  const {code, text} = await ask('POST', path, {body});
  return {code, ...JSON.parse(text)};
};

test('the page and its parts are there, with a strict policy', async () => {
  for (const path of ['/', '/app.js', '/style.css']) {
    const {code, headers} = await ask('GET', path);
    assert.equal(code, 200, path);
    assert.match(headers['content-security-policy'], /^default-src 'self';/);
  }
  assert.equal((await ask('GET', '/server.mjs')).code, 404);
  assert.equal((await ask('GET', '/__proto__')).code, 404);
});

test('results stand in the order that was drawn', async () => {
  const {results, version, call} = await post('/api/search', {question: 'why'});
  assert.deepEqual(results.map(({sentence}) => sentence), ['c', 'b', 'a']);
  assert.ok(Math.abs(results[0].probability - 0.125) < 1e-12);
  assert.equal(version, '3');
  // What was typed is what is logged.
  assert.deepEqual(call.request.context.candidates.columns.query[0].texts.values, ['why']);
});

test('thumbs are feedback for the whole, and only the first counts', async () => {
  const {decision_id: id} = await post('/api/search', {question: 'why'});
  await post('/api/thumb', {decision_id: id, up: false});
  await post('/api/thumb', {decision_id: id, up: true});
  assert.deepEqual(fake.bodies('/v1/feedback').map(({feedback}) => feedback[0]), [
    {feedback_id: `${id}-thumb`, decision_id: id, loss: 1},
    {feedback_id: `${id}-thumb`, decision_id: id, reward: 1}]);
});

test('what makes no sense is refused, and never reaches Sortition', async () => {
  const {decision_id: id} = await post('/api/search', {question: 'why'});
  fake.asked = [];
  const message = async (path, body) => {
    const {code, message: why} = await post(path, body);
    return `${code} ${why}`;
  };
  assert.equal(await message('/api/click', {decision_id: id, rank: 3}),
      '400 rank is 3, must be a whole number in [0, 2]');
  assert.equal(await message('/api/seen', {decision_id: id, seen_ranks: 0}),
      '400 seen_ranks is 0, must be a whole number in [1, 3]');
  assert.equal(await message('/api/thumb', {decision_id: id, up: 1}), '400 up is 1, must be true or false');
  assert.equal(await message('/api/click', {decision_id: 'other', rank: 0}),
      '404 there is no such decision, or no more');
  assert.equal(await message('/api/search', {question: 'when'}), '404 no question shares a word with this one');
  assert.equal(await message('/api/search', {question: 'x'.repeat(501)}),
      '400 question has 501 characters, must be at most 500');
  assert.equal(await message('/api/visitors', {rate: 1}),
      '403 visitors are off: start the server with --visitors');
  assert.equal(await message('/api/click', 'null'), '400 the body is not an object');
  assert.deepEqual(fake.asked, []);
});

test('an error of Sortition is said', async () => {
  fake.troubles = [400];
  const {code, message} = await post('/api/search', {question: 'why'});
  assert.equal(`${code} ${message}`, '502 Sortition: NAME: why');
});

test('other sites cannot ask', async () => {
  const body = {question: 'why'};
  const code = async (headers) => (await ask('POST', '/api/search', {body, headers})).code;
  assert.equal(await code({origin: `http://127.0.0.1:${port}`}), 200);
  assert.equal(await code({origin: 'http://elsewhere.example'}), 403);
  assert.equal(await code({host: 'elsewhere.example'}), 403);
  assert.equal(await code({host: `localhost:${port}`}), 200);
  assert.equal(await code({'content-type': 'text/plain'}), 415);
  assert.equal((await ask('POST', '/api/search', {body: ' '.repeat(65537)})).code, 413);
});
