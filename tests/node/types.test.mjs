// The types that are shipped.
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {test} from 'node:test';
import * as client from 'sortition';
import typescript from 'typescript';
import {rankerNames} from './node_modules/sortition/source/ranker.js';
import {
  baselineNames, decisionNames, feedbackNames, shownNames,
} from './node_modules/sortition/source/requests.js';
import {tlsNames} from './node_modules/sortition/source/security.js';

test('tsc takes what is right, and refuses what is wrong', () => {
  const {stdout, status} = spawnSync(process.execPath, ['../node_modules/typescript/bin/tsc', '--project', '.'],
      {encoding: 'utf8'});
  assert.equal(status, 0, stdout);
});

// The names of the fields of an exported type of index.d.ts.
function fieldsOf(...names) {
  const path = 'node_modules/sortition/index.d.ts';
  const program = typescript.createProgram([path], {types: []});
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(path)));
  return names.flatMap((name) => checker.getDeclaredTypeOfSymbol(exported.find((symbol) => symbol.name === name))
      .getProperties().map((property) => property.name)).sort();
}

test('options that are taken are those that have types', () => {
  const same = (known, ...names) => assert.deepEqual([...known].sort(), [...new Set(fieldsOf(...names))]);
  same(decisionNames.rank, 'RankOptions', 'Width');
  same(decisionNames.select, 'DecisionOptions', 'Width');
  same(decisionNames.label, 'LabelOptions', 'Width');
  same(decisionNames.aggregate, 'AggregateOptions', 'Width');
  same(shownNames, 'ShownOptions');
  same(feedbackNames, 'Feedback');
  same(baselineNames, 'Baseline');
  same(rankerNames, 'RankerOptions');
  same(tlsNames, 'Tls');
});

test('every export has a type', () => {
  const types = readFileSync('node_modules/sortition/index.d.ts', 'utf8');
  for (const name of Object.keys(client)) assert.match(types, new RegExp(`export (class|function) ${name}\\b`));
});
