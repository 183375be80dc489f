// Candidates of a request from arrays, matrices and objects.
import {endianness} from 'node:os';
import {described, idTexts, isObject, isUnset, list, number, object, optionsOf, refuse, uint32} from './arguments.js';
import {columnOf} from './columns.js';

// Returns the message `Candidates` of one of
// - a Float32Array or Float64Array, row by row, with `numFeatures`
// - an array of n arrays of d numbers
// - {rowOffsets, columns, values}, compressed sparse rows, with `numFeatures`
// - an array of n objects: named columns, with those of the `query`.
// `name`: what the caller calls `features`; `scores` are numbers, never objects.
export function candidatesOf(features, {numFeatures, ids, query, types} = {}, name = 'features') {
  const isNamed = Array.isArray(features) && areObjects(features, name);
  if (isNamed && !isUnset(numFeatures)) refuse('numFeatures', numFeatures, `unset where ${name} are objects`);
  const candidates = isNamed ? {columns: namedColumns(features, query ?? {}, types ?? {}, name)} :
      matrix(features, numFeatures ?? undefined, name);
  if (!isNamed && !isUnset(query) && Object.keys(object('query', query)).length > 0) {
    throw new TypeError(`query has named columns, must be unset where ${name} are numbers`);
  }
  if (!isUnset(ids)) candidates.ids = idTexts(ids);
  return candidates;
}

function isNumbers(value) {
  return value instanceof Float32Array || value instanceof Float64Array;
}

// True if the rows are objects rather than arrays of numbers. TypeError unless
// all are of one kind.
function areObjects(rows, name) {
  if (rows.length === 0) throw new RangeError(`${name} are empty, must have at least one candidate`);
  const areNamed = isObject(rows[0]);
  rows.forEach((row, place) => {
    if (isObject(row) !== areNamed || !(areNamed || Array.isArray(row) || ArrayBuffer.isView(row))) {
      const like = place > 0 ? `, as ${name}[0] is` : '';
      const expected = place > 0 ? (areNamed ? 'an object' : 'an array of numbers') :
          name === 'scores' ? 'an array of numbers' : 'an object of named columns, or an array of numbers';
      refuse(`${name}[${place}]`, row, expected + like);
    }
  });
  if (areNamed && name === 'scores') refuse('scores[0]', rows[0], 'an array of numbers');
  return areNamed;
}

function matrix(features, numFeatures, name) {
  if (isNumbers(features)) return dense(features, rowLength(features.length, numFeatures, name));
  if (Array.isArray(features)) return denseRows(features, numFeatures, name);
  if (isObject(features) && 'rowOffsets' in features && name !== 'scores') return sparse(features, numFeatures);
  const forms = 'a Float32Array or Float64Array with numFeatures, an array of arrays';
  const named = ', an array of objects (one for each candidate), or {rowOffsets, columns, values} with numFeatures';
  throw new TypeError(`${name} are ${described(features)}, must be ${forms}${name === 'scores' ? '' : named}`);
}

function rowLength(length, numFeatures, name) {
  if (!Number.isInteger(numFeatures) || numFeatures < 1 || length % numFeatures !== 0) {
    const expected = `a divisor of the ${length} values of ${name}`;
    refuse('numFeatures', numFeatures, expected, RangeError);
  }
  return numFeatures;
}

// The bytes are copied: the caller may reuse the array.
function dense(values, numFeatures) {
  const floats = new Float32Array(values);
  const packed = Buffer.from(floats.buffer);
  if (endianness() === 'BE') packed.swap32();
  return {numFeatures, dense: {packed}};
}

function denseRows(rows, given, name) {
  const numFeatures = given === undefined ? rows[0].length : uint32('numFeatures', given);
  if (!(numFeatures >= 1)) {
    throw new RangeError(`${name} have ${rows.length} rows of ${numFeatures} numbers, must have at least one of each`);
  }
  const values = new Float32Array(rows.length * numFeatures);
  rows.forEach((row, i) => {
    if (row.length !== numFeatures) {
      throw new RangeError(`${name}[${i}] has ${row.length} numbers, must have ${numFeatures}`);
    }
    for (let j = 0; j < numFeatures; ++j) {
      if (typeof row[j] !== 'number') refuse(`${name}[${i}][${j}]`, row[j], 'a number');
      values[i * numFeatures + j] = row[j];
    }
  });
  return dense(values, numFeatures);
}

function sparse(features, numFeatures) {
  const given = optionsOf('sparse features', features, ['rowOffsets', 'columns', 'values']);
  const entries = (key, check) => list(`features.${key}`, given[key] ?? [], 'numbers')
      .map((value, i) => check(`features.${key}[${i}]`, value));
  return {numFeatures: uint32('numFeatures', numFeatures), sparse: {
    rowOffsets: entries('rowOffsets', uint32), columns: entries('columns', uint32), values: entries('values', number)}};
}

// Keys that an object lacks are missing values.
function namedColumns(rows, query, types, rowsName) {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  object('types', types);
  const typeOf = (name) => Object.hasOwn(types, name) ? types[name] ?? undefined : undefined;
  return {
    numCandidates: rows.length,
    candidate: Array.from(names, (name) =>
      columnOf(name, rows.map((row) => Object.hasOwn(row, name) ? row[name] : undefined),
          (row) => `${rowsName}[${row}].${name}`, typeOf(name))),
    query: Object.entries(object('query', query)).map(([name, value]) =>
      columnOf(name, [value], () => `query.${name}`, typeOf(name))),
  };
}
