// The search page with the real programs: what is done on it stands in the tuples.
// SORTITION_BIN: the folder of the programs.
import assert from 'node:assert/strict';
import {execFileSync, spawn} from 'node:child_process';
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {setTimeout as pause} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';

const bin = process.env.SORTITION_BIN;
assert.ok(bin, 'SORTITION_BIN is empty, must be the folder of the programs');
const patienceMs = 120000;
const windowSeconds = 5;

const folder = mkdtempSync(join(tmpdir(), 'search_loop_'));
const inFolder = (name) => join(folder, name);
const running = [];
let page;

// Starts a program that writes its ports into a file; returns {name: port}.
async function start(name, program, ...options) {
  const ports = inFolder(`${name}.port`);
  const child = spawn(program, [...options, `--port_file=${ports}`], {stdio: ['ignore', 'inherit', 'inherit']});
  running.push(child);
  const written = await until(`ports of ${name}`, () => {
    assert.equal(child.exitCode, null, `${name} has ended`);
    return existsSync(ports) && readFileSync(ports, 'utf8');
  });
  return Object.fromEntries(written.trim().split('\n').map((line) => line.split(' ')));
}

// Waits until `condition` returns something true, and returns it.
async function until(what, condition) {
  const end = Date.now() + patienceMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(Date.now() < end, `no ${what} in time`);
    await pause(50);
  }
}

async function post(path, body) {
  const response = await fetch(`${page}${path}`, {method: 'POST', body: JSON.stringify(body),
    headers: {'content-type': 'application/json'}});
  return {code: response.status, ...await response.json()};
}

// Returns the tuples so far, by decision id.
function tuples() {
  const text = execFileSync(join(bin, 'sortition'), ['log', 'cat', inFolder('tuples'), '--output=json'],
      {encoding: 'utf8', maxBuffer: 1 << 28});
  return new Map(text.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line).record.tuple)
      .filter(Boolean).map((tuple) => [tuple.decision.decision_id, tuple]));
}

before(async () => {
  mkdirSync(inFolder('spool'));
  mkdirSync(inFolder('models'));
  const local = '127.0.0.1:0';
  await start('sidecar', join(bin, 'sortition-sidecar'), `--spool=${inFolder('spool')}`,
      `--tuples=${inFolder('tuples')}`, `--reward_wait_time_seconds=${windowSeconds}`,
      '--segment_seconds=0.2', `--metrics_listen=${local}`, `--http_listen=${local}`);
  const {http} = await start('server', join(bin, 'sortition-server'), `--listen=${local}`,
      `--metrics_listen=${local}`, `--http.listen=${local}`, `--model_store=${inFolder('models')}`,
      `--spool.dir=${inFolder('spool')}`);
  const server = fileURLToPath(new URL('../../../examples/search/server.mjs', import.meta.url));
  const ports = await start('page', process.execPath, server, `--listen=${local}`,
      `--sortition=http://127.0.0.1:${http}`, '--visitors=0');
  page = `http://127.0.0.1:${ports.http}`;
});

after(async () => {
  for (const child of running.reverse()) {
    if (child.exitCode !== null) continue;
    child.kill();
    await new Promise((resolve) => child.once('exit', resolve));
  }
  rmSync(folder, {recursive: true});
});

test('what people and simulated visitors do arrives in the tuples, exactly', async () => {
  assert.equal((await post('/api/visitors', {rate: 20})).code, 200);
  const question = 'Why is the sky blue?';
  const liked = await post('/api/search', {question, unit: 'person-1'});
  const {decision_id: id} = liked;
  assert.equal(liked.version, '0');
  assert.equal(liked.results.length, 6);
  // A cold start: nine in ten get the order of the search, the others one of 6! orders.
  const propensity = Math.exp(liked.log_propensity);
  assert.ok([0.1 / 720, 0.9 + 0.1 / 720].some((each) => Math.abs(propensity / each - 1) < 1e-9));
  await post('/api/seen', {decision_id: id, seen_ranks: 2});
  await post('/api/seen', {decision_id: id, seen_ranks: 5});
  await post('/api/seen', {decision_id: id, seen_ranks: 3});  // Late on its way.
  await post('/api/click', {decision_id: id, rank: 4});
  await post('/api/click', {decision_id: id, rank: 4});  // Twice, counts once.
  await post('/api/thumb', {decision_id: id, up: true});

  const disliked = await post('/api/search', {question, unit: 'person-1'});
  await post('/api/thumb', {decision_id: disliked.decision_id, up: false});
  const ignored = await post('/api/search', {question: 'bees honey', unit: 'person-2'});

  const state = async () => (await (await fetch(`${page}/api/state`)).json()).visitors;
  await until('visitors', async () => (await state()).count >= 20);
  assert.equal((await post('/api/visitors', {rate: 0})).rate, 0);
  const {failed, versions} = await state();
  assert.equal(failed, 0);
  assert.deepEqual(versions.map(({version}) => version), ['0']);

  const of = (all, visitor) => [...all].filter(([, {decision}]) => decision.attributes.visitor === visitor);
  const all = await until('tuples', () => {
    const arrived = tuples();
    return of(arrived, 'person').length >= 3 && of(arrived, 'simulated').length >= 20 && arrived;
  });
  for (const [, {shown, decision}] of of(all, 'simulated')) {
    assert.ok(shown.seen_ranks >= 1 && shown.seen_ranks <= decision.top_k);
  }
  const found = new Map(of(all, 'person'));
  assert.equal(found.size, 3);
  const tuple = found.get(id);
  const {columns} = tuple.decision;
  const sentences = columns.candidate[0].texts.values;
  assert.deepEqual(columns.query[0].texts.values, [question]);
  assert.deepEqual(tuple.decision.action.map((index) => sentences[index]),
      liked.results.map(({sentence}) => sentence));
  assert.equal(tuple.decision.log_propensity, liked.log_propensity);
  assert.equal(tuple.decision.unit_id, 'person-1');
  assert.deepEqual(tuple.decision.attributes, {visitor: 'person'});
  assert.equal(tuple.shown.seen_ranks, 5);
  assert.equal(tuple.reward, 2);  // A click and a thumb.
  assert.deepEqual(tuple.rank_rewards.map(({rank, reward}) => [rank, reward]), [[4, 1]]);

  assert.equal(found.get(disliked.decision_id).reward, -1);
  assert.equal(found.get(ignored.decision_id).reward ?? 0, 0);
  assert.equal(found.get(ignored.decision_id).shown, undefined);
});
