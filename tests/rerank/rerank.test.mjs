// Clients of rerankers against a real server, beside the same decisions over gRPC.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {CohereRerank} from '@langchain/cohere';
import {Document} from '@langchain/core/documents';
import * as cohere7 from 'cohere-ai';
import * as cohere8 from 'cohere-ai-8';
import {ServerProcess, python, sortition, tempFolder} from './processes.mjs';

const query = 'Who wrote Emma?';
const documents = ['It rains.', 'Jane Austen did.', 'Émile Zola', 'no one'];
const token = 'unused';

let server;
let base;
before(async () => {
  server = await new ServerProcess(tempFolder()).start();
  base = `http://127.0.0.1:${/^http (\d+)$/m.exec(readFileSync(server.portFile, 'utf8'))[1]}`;
});
after(() => server?.stop());

async function post(path, body, headers = {}) {
  const response = await fetch(base + path, {
    method: 'POST', headers: {'content-type': 'application/json', ...headers}, body: JSON.stringify(body),
  });
  return {status: response.status, headers: response.headers, body: await response.json()};
}

// The same decision over gRPC: the draw is a function of the id.
function byRank(decisionId, {topK, texts = documents} = {}) {
  const values = (name, given) => ({name, texts: {values: given}});
  const request = {...(topK && {top_k: topK}), context: {
    decision_id: decisionId,
    baseline: {action: Array.from(texts.keys())},
    candidates: {columns: {num_candidates: texts.length, candidate: [values('text', texts)],
      query: [values('query', [query])]}},
  }};
  return JSON.parse(sortition(['rank', `--server=${server.address}`, '--output=json'], JSON.stringify(request)));
}

function checkResults(results, expected, count) {
  assert.deepEqual(results.map(({index}) => index), expected.order);
  const scores = results.map(({relevanceScore, relevance_score: score}) => relevanceScore ?? score);
  assert.deepEqual(scores, expected.order.map((_, rank) => (count - rank) / count));
}

const clients = {
  'Cohere 7, v1': () => new cohere7.CohereClient({token, environment: base}),
  'Cohere 7, v2': () => new cohere7.CohereClientV2({token, environment: base}),
  'Cohere 8, v1': () => new cohere8.CohereClient({token, environment: base}),
  'Cohere 8, v2': () => new cohere8.CohereClientV2({token, environment: base}),
};
for (const [name, make] of Object.entries(clients)) {
  test(`${name}: answers are those of Rank`, async () => {
    for (const topN of [undefined, 2]) {
      const answer = await make().rerank({model: 'rerank-v3.5', query, documents, ...(topN && {topN})});
      const expected = byRank(answer.id, {topK: topN});
      checkResults(answer.results, expected, documents.length);
      assert.equal(answer.sortition.log_propensity, expected.result.log_propensity);
      assert.equal(answer.sortition.decision_id, answer.id);
      assert.ok(answer.meta.apiVersion.version === name.at(-1));
    }
  });
}

test('Cohere, v1: documents may be objects and come back', async () => {
  const answer = await clients['Cohere 8, v1']().rerank({
    model: 'x', query, documents: [{text: 'a', title: 't'}, {text: 'b'}], returnDocuments: true, rankFields: ['text'],
    maxChunksPerDoc: 3,
  });
  for (const {index, document} of answer.results) assert.equal(document.text, 'ab'[index]);
});

test('an error is an error of the client, with our words', async () => {
  await assert.rejects(clients['Cohere 8, v2']().rerank({model: 'x', query, documents: []}, {maxRetries: 0}),
      (error) => error.statusCode === 400 && /documents is an empty list/.test(JSON.stringify(error.body)));
});

test('LangChain compresses documents', async () => {
  const reranker = new CohereRerank({client: clients['Cohere 7, v1'](), model: 'rerank-v3.5', topN: 3});
  const docs = documents.map((pageContent) => new Document({pageContent}));
  const best = await reranker.compressDocuments(docs, query);
  assert.equal(best.length, 3);
  assert.deepEqual(best.map(({metadata}) => metadata.relevanceScore), [1, 0.75, 0.5]);
  const ranked = await reranker.rerank(documents, query, {topN: 2});
  assert.deepEqual(ranked.map(({relevanceScore}) => relevanceScore), [1, 0.75]);
});

test('Jina\'s form', async () => {
  const {body} = await post('/v1/rerank', {
    model: 'jina-reranker-v2-base-multilingual', query, documents, top_n: 2, return_documents: true,
    decision_id: 'jina', user: 'u1',
  });
  checkResults(body.results, byRank('jina', {topK: 2}), documents.length);
  for (const {index, document} of body.results) assert.equal(document.text, documents[index]);
});

test('the form of text-embeddings-inference', async () => {
  const {body, headers} = await post('/rerank',
      {query, texts: documents, raw_scores: false, return_text: true, truncate: true},
      {'x-sortition-decision-id': 'tei'});
  assert.equal(headers.get('x-sortition-decision-id'), 'tei');
  const {order} = byRank('tei');
  assert.deepEqual(body, order.map((index, rank) =>
    ({index, score: (4 - rank) / 4, text: documents[index]})));
});

test('feedback names the document by its index', async () => {
  const {body} = await post('/v1/rerank', {query, documents});
  const {index} = body.results[1];
  for (let i = 0; i < 2; ++i) {
    const {status, body: accepted} = await post('/v1/feedback', {id: body.id, index, reward: 1});
    assert.deepEqual([status, accepted], [200, {accepted: 1}]);
  }
  const reports = server.records().map(({record: {feedback}}) => feedback)
      .filter((feedback) => feedback?.decision_id === body.id);
  assert.deepEqual(reports.map(({index: logged, reward}) => [logged, reward]), [[index, 1], [index, 1]]);
  // The repetition has the same id, so the join counts it once.
  assert.equal(reports[0].feedback_id, reports[1].feedback_id);
});

// All of them send the whole body before they look for an answer.
test('a body that is too large gets its status from fetch, curl and Python', async () => {
  const body = JSON.stringify({query, documents: ['x'.repeat(20 << 20)]});
  const {status, body: {message}} = await post('/v1/rerank', JSON.parse(body));
  assert.equal(status, 413);
  assert.match(message, /http\.max_body_bytes/);
  const run = (program, args) => spawnSync(program, args, {input: body, encoding: 'utf8'});
  const byCurl = run('curl', ['-s', '-o', '/dev/null', '-w', '%{http_code}', '-H', 'Expect:', '-H',
    'Content-Type: application/json', '--data-binary', '@-', `${base}/v1/rerank`]);
  assert.equal(byCurl.stdout, '413', byCurl.stderr);
  const byPython = run(python, ['-c', `
import sys, urllib.error, urllib.request
request = urllib.request.Request("${base}/v1/rerank", sys.stdin.buffer.read(), {"Content-Type": "application/json"})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    print(error.code)
`]);
  assert.equal(byPython.stdout.trim(), '413', byPython.stderr);
});

test('the log is sound', () => {
  const text = sortition(['log', 'verify', server.spool]);
  assert.match(text, /verified/);
});
