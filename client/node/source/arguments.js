// Checks of arguments. Messages name the argument as the caller wrote it, its
// value, and what is permitted.

const maxDescribed = 60;

// Returns a value as text for a message: "5" and 5 look different.
export function described(value) {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) return String(value);
  const kind = value.constructor?.name || Object.prototype.toString.call(value).slice('[object '.length, -1);
  const other = `a value of type ${kind}`;
  if (!['Object', 'Array', 'String'].includes(kind)) return other;
  let text;
  try {
    text = JSON.stringify(value) ?? other;
  } catch {
    return other;  // It has a cycle or a bigint.
  }
  return text.length <= maxDescribed ? text : `${text.slice(0, maxDescribed)}…`;
}

export function refuse(name, value, expected, ErrorType = TypeError) {
  throw new ErrorType(`${name} is ${described(value)}, must be ${expected}`);
}

// True for null, too, which is what JSON has where a value is unset.
export function isUnset(value) {
  return value === undefined || value === null;
}

// True for objects with names: no arrays, maps, sets, dates.
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value) &&
      !(Symbol.iterator in value) && !(value instanceof Date);
}

// Returns an object with names.
export function object(name, value, expected = 'an object') {
  if (isObject(value)) return value;
  return refuse(name, value, value instanceof Map ? `${expected}, not a Map: Object.fromEntries(…)` : expected);
}

// Returns the entries of `options` that are set. TypeError if one of them is not
// among `known`: a misspelt option must not be passed over.
export function optionsOf(what, options, known) {
  const given = {};
  for (const [name, value] of Object.entries(object(`the argument options of ${what}`, options))) {
    if (!known.includes(name)) refuseName(what, name, known);
    if (!isUnset(value)) given[name] = value;
  }
  return given;
}

function refuseName(what, name, known) {
  const plain = (text) => text.toLowerCase().replaceAll('_', '');
  const near = known.find((other) => plain(other) === plain(name)) ??
      known.find((other) => name.length > 3 && isOneEditAway(plain(other), plain(name)));
  const hint = near ? `; did you mean ${near}?` : '.';
  throw new TypeError(`${name} is not an option of ${what}${hint} Options: ${known.join(', ')}`);
}

// True if one character more, less or other, or two that are swapped, make the
// texts equal.
function isOneEditAway(a, b) {
  let start = 0;
  while (start < a.length && a[start] === b[start]) ++start;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  return restA.slice(1) === restB || restA === restB.slice(1) || restA.slice(1) === restB.slice(1) ||
      (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2));
}

// Returns an array of what an iterable has. `what`: plural noun.
export function list(name, value, what) {
  if (Array.isArray(value)) return value;
  const isList = typeof value === 'object' && value !== null && Symbol.iterator in value && !(value instanceof Map);
  return isList ? Array.from(value) : refuse(name, value, `an array of ${what}`);
}

export function text(name, value) {
  if (typeof value === 'string') return value;
  const hint = typeof value === 'number' || typeof value === 'bigint' ? `, such as "${value}"` : '';
  return refuse(name, value, `a string${hint}`);
}

export function flag(name, value) {
  if (typeof value === 'boolean') return value;
  return value === 0 || value === 1 ? value === 1 : refuse(name, value, 'true or false');
}

function integer(name, value, largest, meaning) {
  const expected = `an integer in [0, ${largest}]${meaning}`;
  if (typeof value !== 'number' && typeof value !== 'bigint') refuse(name, value, expected);
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value);
  return isInteger && value >= 0 && BigInt(value) <= largest ? value : refuse(name, value, expected, RangeError);
}

// meaning: what the number stands for, for the message.
export function uint32(name, value, meaning = '') {
  return Number(integer(name, value, 0xffffffffn, meaning));
}

// Returns the number as text: a JavaScript number holds 53 bits. Takes a text of
// digits, too, which is how JSON has such numbers.
export function uint64(name, value) {
  const given = typeof value === 'string' && /^\d{1,20}$/.test(value) ? BigInt(value) : value;
  return String(integer(name, given, 0xffffffffffffffffn, ''));
}

// Returns the place of a candidate in the request.
export function documentIndex(name, value) {
  return uint32(name, value, ', the place of a candidate in the request');
}

// Returns the number of a text of digits, exactly.
export function fromUint64(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

// TypeError unless it is a number: null, true and texts would become others.
export function number(name, value) {
  return typeof value === 'number' ? value : refuse(name, value, 'a number');
}

export function finite(name, value) {
  if (typeof value !== 'number') refuse(name, value, 'a finite number');
  return Number.isFinite(value) ? value : refuse(name, value, 'a finite number', RangeError);
}

// TypeError unless it is the id of a decision: of null and undefined String()
// makes ids that all decisions without one would share.
export function decisionIdOf(value) {
  if (typeof value === 'string' && value !== '') return value;
  const hint = typeof value?.decisionId === 'string' ? ': its decisionId' : '';
  return refuse('decisionId', value, `a string with characters${hint}`);
}

// Returns the ids of candidates as texts.
export function idTexts(ids) {
  return list('ids', ids, 'strings or numbers: an id for each candidate').map((id, place) => {
    const isId = typeof id === 'string' || (typeof id === 'number' && !Number.isNaN(id)) || typeof id === 'bigint' ||
        (isObject(id) && id.toString !== Object.prototype.toString) || id instanceof Date;
    return isId ? String(id) : refuse(`ids[${place}]`, id, 'a string or a number');
  });
}
