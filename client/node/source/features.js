// Candidates of a request from arrays, matrices and objects.
import {endianness} from 'node:os';
import {columnOf} from './columns.js';
import {number, uint32} from './numbers.js';

// Returns the message `Candidates` of one of
// - a Float32Array or Float64Array, row by row, with `numFeatures`
// - an array of n arrays of d numbers
// - {rowOffsets, columns, values}, compressed sparse rows, with `numFeatures`
// - an array of n objects: named columns, with those of the `query`.
export function candidatesOf(features, {numFeatures, ids, query, types} = {}) {
  const candidates = isObjects(features) ? {columns: namedColumns(features, query, types)} :
      query ? refuseQuery() : matrix(features, numFeatures);
  if (ids !== undefined) candidates.ids = Array.from(ids, String);
  return candidates;
}

function refuseQuery() {
  throw new TypeError('query has named columns, must be unset where features are numbers');
}

function isNumbers(value) {
  return value instanceof Float32Array || value instanceof Float64Array;
}

function isObjects(features) {
  const first = Array.isArray(features) ? features[0] : undefined;
  return first !== null && typeof first === 'object' && !Array.isArray(first) && !ArrayBuffer.isView(first);
}

function matrix(features, numFeatures) {
  if (isNumbers(features)) return dense(features, rowLength(features.length, numFeatures));
  if (Array.isArray(features)) return denseRows(features, numFeatures);
  if (features?.rowOffsets) return sparse(features, numFeatures);
  throw new TypeError(`features are ${features === null ? 'null' : typeof features}, must be a Float32Array with ` +
      'numFeatures, an array of arrays, an array of objects, or {rowOffsets, columns, values}');
}

function rowLength(length, numFeatures) {
  if (!Number.isInteger(numFeatures) || numFeatures < 1 || length % numFeatures !== 0) {
    throw new RangeError(`numFeatures is ${numFeatures}, must be a divisor of the ${length} values of features`);
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

function denseRows(rows, numFeatures = rows[0]?.length) {
  if (!(numFeatures >= 1)) {
    throw new RangeError(`features have ${rows.length} rows of ${numFeatures ?? 0} numbers, must have one of each`);
  }
  const values = new Float32Array(rows.length * numFeatures);
  rows.forEach((row, i) => {
    if (row?.length !== numFeatures) {
      throw new RangeError(`features[${i}] has ${row?.length} numbers, must have ${numFeatures}`);
    }
    for (let j = 0; j < numFeatures; ++j) {
      if (typeof row[j] !== 'number') throw new TypeError(`features[${i}][${j}] is ${row[j]}, must be a number`);
      values[i * numFeatures + j] = row[j];
    }
  });
  return dense(values, numFeatures);
}

function sparse({rowOffsets, columns = [], values = []}, numFeatures) {
  return {numFeatures: uint32('numFeatures', numFeatures), sparse: {
    rowOffsets: Array.from(rowOffsets, (value) => uint32('rowOffsets', value)),
    columns: Array.from(columns, (value) => uint32('columns', value)), values: Array.from(values, (value) => number('values', value))}};
}

// Keys that an object lacks are missing values.
function namedColumns(rows, query = {}, types = {}) {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  const typeOf = (name) => Object.hasOwn(types, name) ? types[name] : undefined;
  return {
    numCandidates: rows.length,
    candidate: Array.from(names, (name) =>
      columnOf(name, rows.map((row) => Object.hasOwn(row, name) ? row[name] : undefined), typeOf(name))),
    query: Object.entries(query).map(([name, value]) => columnOf(name, [value], typeOf(name))),
  };
}
