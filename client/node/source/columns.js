// Named columns of a request (proto/sortition/v1/columns.proto).
import {number} from './numbers.js';

// Returns the message `Column` of values, one a candidate. null, undefined and
// NaN are missing. `type`: of the schema, in lower case; unset: what the values
// look like, where strings are texts.
export function columnOf(name, values, type = guess(name, values)) {
  const fill = Object.hasOwn(fills, type) && fills[type];
  if (!fill) throw new TypeError(`types.${name} is ${type}, must be one of ${Object.keys(fills).join(', ')}`);
  const missing = values.flatMap((value, row) => isMissing(value) ? [row] : []);
  // NaN says of a number that it is missing.
  return {name, ...(type !== 'number' && {missing}), ...fill(name, values)};
}

function isMissing(value) {
  return value === null || value === undefined || Number.isNaN(value);
}

function guess(name, values) {
  for (const value of values) {
    if (isMissing(value) || value.length === 0 && Array.isArray(value)) continue;
    if (typeof value === 'number' || typeof value === 'boolean') return 'number';
    if (typeof value === 'string') return 'text';
    if (value instanceof Set) return 'category_set';
    if (ArrayBuffer.isView(value)) return 'vector';
    if (Array.isArray(value)) return typeof value[0] === 'string' ? 'category_set' : 'vector';
    throw new TypeError(`column ${name} has ${value}, must be a number, a string, a set of strings or a vector`);
  }
  return 'number';
}

const fills = {
  number: (name, values) => ({numbers: {values: values.map((value) => {
    if (isMissing(value)) return NaN;
    if (typeof value !== 'number' && typeof value !== 'boolean') {
      throw new TypeError(`column ${name} has ${JSON.stringify(value)}, must be numbers`);
    }
    return Number(value);
  })}}),
  category: (name, values) => ({categories: {values: strings(values)}}),
  text: (name, values) => ({texts: {values: strings(values)}}),
  category_set: fillSets,
  vector: fillVectors,
};

function strings(values) {
  return values.map((value) => isMissing(value) ? '' : String(value));
}

function fillSets(name, values) {
  const sets = {offsets: [0], values: []};
  for (const value of values) {
    if (!isMissing(value) && !(value instanceof Set) && !Array.isArray(value)) {
      throw new TypeError(`column ${name} has ${JSON.stringify(value)}, must be sets or arrays of strings`);
    }
    if (!isMissing(value)) sets.values.push(...strings(value instanceof Set ? [...value].sort() : value));
    sets.offsets.push(sets.values.length);
  }
  return {categorySets: sets};
}

function fillVectors(name, values) {
  const size = values.find((value) => !isMissing(value))?.length ?? 0;
  const rows = values.map((value, row) => {
    if (isMissing(value)) return new Array(size).fill(0);
    if (value.length === size) return Array.from(value, (element) => number(`column ${name}`, element));
    throw new RangeError(`column ${name} has ${value.length} numbers in row ${row}, must have ${size} as those before`);
  });
  return {vectors: {size, values: rows.flat()}};
}
