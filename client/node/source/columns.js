// Named columns of a request (proto/sortition/v1/columns.proto).
import {described, isUnset, number, refuse} from './arguments.js';

// Returns the message `Column` of values, one a candidate. null, undefined and
// NaN are missing. `type`: of the schema, in lower case; unset: what the values
// look like, where strings are texts. `place(row)`: what the caller calls the
// value of a row.
export function columnOf(name, values, place, type = guess(name, values, place)) {
  const fill = Object.hasOwn(fills, type) && fills[type];
  if (!fill) refuse(`types.${name}`, type, `one of ${Object.keys(fills).join(', ')}`);
  const missing = values.flatMap((value, row) => isMissing(value) ? [row] : []);
  // NaN says of a number that it is missing.
  return {name, ...(type !== 'number' && {missing}), ...fill(values, place)};
}

function isMissing(value) {
  return isUnset(value) || Number.isNaN(value);
}

// Returns the type of a value; undefined where it may be of several.
function typeOf(value) {
  if (typeof value === 'number' || typeof value === 'boolean') return 'number';
  if (typeof value === 'string') return 'text';
  if (value instanceof Set) return 'category_set';
  if (ArrayBuffer.isView(value)) return 'vector';
  if (Array.isArray(value)) {
    return value.length === 0 ? undefined : typeof value[0] === 'string' ? 'category_set' : 'vector';
  }
  return null;
}

function guess(name, values, place) {
  let first;  // The row whose value shows the type, and that type.
  values.forEach((value, row) => {
    const type = isMissing(value) ? undefined : typeOf(value);
    if (type === undefined) return;
    if (type === null) refuse(place(row), value, 'a number, a string, a set of strings or a vector');
    first ??= {type, row};
    if (type === first.type) return;
    throw new TypeError(`${place(row)} is ${described(value)} and ${place(first.row)} is ` +
        `${described(values[first.row])}, must be of one type, or types.${name} says which`);
  });
  return first?.type ?? 'number';
}

const fills = {
  number: (values, place) => ({numbers: {values: values.map((value, row) => {
    if (isMissing(value)) return NaN;
    return typeof value === 'boolean' ? Number(value) : number(place(row), value);
  })}}),
  category: (values, place) => ({categories: {values: strings(values, place)}}),
  text: (values, place) => ({texts: {values: strings(values, place)}}),
  category_set: fillSets,
  vector: fillVectors,
};

function strings(values, place) {
  return values.map((value, row) => {
    if (isMissing(value)) return '';
    return ['string', 'number', 'boolean', 'bigint'].includes(typeof value) ? String(value) :
        refuse(place(row), value, 'a string');
  });
}

function fillSets(values, place) {
  const sets = {offsets: [0], values: []};
  values.forEach((value, row) => {
    if (!isMissing(value)) sets.values.push(...members(value, place(row)));
    sets.offsets.push(sets.values.length);
  });
  return {categorySets: sets};
}

function members(value, name) {
  if (!(value instanceof Set) && !Array.isArray(value)) refuse(name, value, 'a set or an array of strings');
  const found = [...value];
  const wrong = found.findIndex((member) => typeof member !== 'string');
  if (wrong >= 0) refuse(`member ${wrong} of ${name}`, found[wrong], 'a string');
  return value instanceof Set ? found.sort() : found;
}

function fillVectors(values, place) {
  const isVector = (value) => Array.isArray(value) || ArrayBuffer.isView(value);
  const wrong = values.findIndex((value) => !isMissing(value) && !isVector(value));
  if (wrong >= 0) refuse(place(wrong), values[wrong], 'an array of numbers');
  const first = values.findIndex((value) => !isMissing(value));
  const size = values[first]?.length ?? 0;
  const rows = values.map((value, row) => {
    if (isMissing(value)) return new Array(size).fill(0);
    if (value.length === size) return Array.from(value, (element, i) => number(`${place(row)}[${i}]`, element));
    throw new RangeError(`${place(row)} has ${value.length} numbers, must have ${size} as ${place(first)} has`);
  });
  return {vectors: {size, values: rows.flat()}};
}
