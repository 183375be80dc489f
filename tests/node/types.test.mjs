// The types that are shipped.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import * as client from 'sortition';

test('tsc takes what is right, and refuses what is wrong', () => {
  const {stdout, status} = spawnSync(process.execPath, ['../node_modules/typescript/bin/tsc', '--project', '.'],
      {encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});

test('every export has a type', () => {
  const types = readFileSync('node_modules/sortition/index.d.ts', 'utf8');
  for (const name of Object.keys(client)) assert.match(types, new RegExp(`export (class|function) ${name}\\b`));
});
