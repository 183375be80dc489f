// Which server a decision belongs to.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {test} from 'node:test';
import {makeId} from 'sortition';
import {securityOf} from './node_modules/sortition/source/security.js';
import {Servers} from './node_modules/sortition/source/servers.js';
import {python} from './processes.mjs';

const open = (addresses) => new Servers(addresses, securityOf());

// The same hashes by libxxhash: a line of addresses, then ids; answers are
// indices.
const oracle = `
import ctypes, sys
library = ctypes.CDLL("libxxhash.so.0")
class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]
library.XXH3_128bits.restype = Hash
library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
def low(text):
    data = text.encode()
    return library.XXH3_128bits(data, len(data)).low
addresses, *ids = sys.stdin.read().splitlines()
addresses = addresses.split(",")
for name in ids:
    weights = [low(f"{address} {name}") for address in addresses]
    print(weights.index(max(weights)))
`;

test('an id chooses the server that the other client libraries choose', () => {
  const addresses = ['a:1', '10.0.0.7:8500', `${'long'.repeat(60)}.example:8500`];
  // Lengths of all branches of the hash, and bytes beyond ASCII.
  const ids = ['x', 'q-17', 'ü', ...Array.from({length: 128}, (_, i) => 'y'.repeat(i + 1)),
    ...Array.from({length: 200}, () => makeId())];
  const input = [addresses.join(','), ...ids].join('\n');
  const {stdout, status} = spawnSync(python, ['-c', oracle], {input, encoding: 'utf8'});
  assert.equal(status, 0);
  const expected = stdout.trim().split('\n').map((index) => addresses[index]);
  const servers = open(addresses);
  assert.deepEqual(ids.map((id) => servers.of(id).address), expected);
  assert.equal(new Set(expected).size, 3);
  servers.close();
});

test('a server that is removed leaves only its own ids', () => {
  const all = open(['a:1', 'b:2', 'c:3']);
  const two = open('a:1, b:2');
  for (let i = 0; i < 300; ++i) {
    const before = all.of(`${i}`).address;
    if (before !== 'c:3') assert.equal(two.of(`${i}`).address, before);
  }
  all.close();
  two.close();
});

test('new ids belong to a server that serves, and spread over those', () => {
  const servers = open(['a:1', 'b:2', 'c:3']);
  servers.all[1].isServing = false;
  const counts = {'a:1': 0, 'b:2': 0, 'c:3': 0};
  for (let i = 0; i < 2000; ++i) {
    const decisionId = servers.newDecisionId();
    assert.equal(servers.route(decisionId)[0], servers.of(decisionId));
    ++counts[servers.of(decisionId).address];
  }
  // 1,000 each, standard deviation 22.
  assert.equal(counts['b:2'], 0);
  assert.ok(Math.abs(counts['a:1'] - 1000) < 150, JSON.stringify(counts));
  // Where none serves, any will do.
  servers.all.forEach((server) => { server.isServing = false; });
  assert.ok(servers.newDecisionId());
  servers.close();
});

test('ids are UUIDs of version 7, ascending in time, never twice', () => {
  const ids = Array.from({length: 5000}, makeId);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(ids).size, ids.length);
  const time = parseInt(ids[0].slice(0, 8) + ids[0].slice(9, 13), 16);
  assert.ok(Math.abs(Date.now() - time) < 60000);
});

test('addresses that are empty are refused', () => {
  assert.throws(() => open('http://localhost:8503'),
      /addresses has "http:\/\/localhost:8503", must be host:port of the gRPC port/);
  assert.throws(() => open('a:1,,b:2'), /addresses are "a:1,,b:2", must be host:port, or several/);
  assert.throws(() => open([]), /addresses are "", must be/);
  // gRPC's own lists are one address.
  const one = open('ipv4:127.0.0.1:1,127.0.0.1:2');
  assert.equal(one.all.length, 1);
  one.close();
});
