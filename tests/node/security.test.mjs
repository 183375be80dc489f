// TLS and tokens against a real server.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {PermissionDeniedError, Ranker, UnauthenticatedError, UnavailableError} from 'sortition';
import {ServerProcess, tempFolder} from './processes.mjs';

let server;
let pem;
before(async () => {
  const folder = tempFolder();
  execFileSync(join(process.env.SORTITION_SOURCES, 'deploy/examples/identity/make_certificates.sh'), ['ranking.test'],
      {cwd: folder, stdio: 'pipe'});
  pem = (name) => readFileSync(join(folder, name), 'utf8');
  const hash = (token) => createHash('sha256').update(token).digest('hex');
  writeFileSync(join(folder, 'tokens'), `decide front ${hash('d-token')}\nfeedback back ${hash('f-token')}\n`);
  server = await new ServerProcess(folder, [
    `--tls.certificate_file=${folder}/server.pem`, `--tls.key_file=${folder}/server.key`,
    `--tls.client_ca_file=${folder}/authority.pem`, `--token_file=${folder}/tokens`]).start();
});
after(() => server?.stop());

const retries = 0;
const identity = () => ({ca: pem('authority.pem'), cert: pem('client.pem'), key: pem('client.key')});

// Makes one call with these options.
async function ask(options, call = (ranker) => ranker.rank([[1], [2]], {deadlineMs: 20000})) {
  const ranker = new Ranker({addresses: server.address, retries, ...options});
  try {
    return await call(ranker);
  } finally {
    ranker.close();
  }
}

test('a token decides over mutual TLS, and only that', async () => {
  const options = {tls: identity(), token: 'd-token'};
  assert.equal((await ask(options)).order.length, 2);
  const feedback = (ranker) => ranker.feedback('d', {reward: 1});
  await assert.rejects(() => ask(options, feedback), PermissionDeniedError);
  assert.equal(await ask({...options, token: 'f-token'}, feedback), 1);
});

test('no token, or one that nobody has, is UNAUTHENTICATED', async () => {
  await assert.rejects(() => ask({tls: identity()}), UnauthenticatedError);
  await assert.rejects(() => ask({tls: identity(), token: 'guess'}), UnauthenticatedError);
});

test('the server must have the name that is asked for', async () => {
  const options = {token: 'd-token', tls: {...identity(), serverName: 'ranking.test'}};
  assert.equal((await ask(options)).order.length, 2);
  await assert.rejects(() => ask({...options, tls: {...options.tls, serverName: 'other.test'}}), UnavailableError);
});

test('without TLS, its authority or a certificate of the client there is no connection', async () => {
  for (const tls of [undefined, true, {ca: pem('authority.pem')}]) {
    await assert.rejects(() => ask({tls, token: 'd-token'}), (error) => error.code === 'UNAVAILABLE');
  }
});

test('health is watched over TLS, without a token', async () => {
  const name = `ipv4:${server.address}`;
  const ranker = new Ranker({addresses: [server.address, name], tls: identity(), token: 'd-token'});
  for (let i = 0; i < 10; ++i) await ranker.rank([[1], [2]], {deadlineMs: 20000});
  assert.deepEqual(ranker.serving(), {[server.address]: true, [name]: true});
  ranker.close();
});
