// Checks of arguments that protobuf would cut to fit.

function integer(name, value, largest, range) {
  const isInteger = typeof value === 'bigint' || Number.isSafeInteger(value) ||
      (typeof value === 'string' && /^\d{1,20}$/.test(value));
  if (isInteger && BigInt(value) >= 0n && BigInt(value) <= largest) return value;
  throw new RangeError(`${name} is ${value}, must be an integer in ${range}`);
}

export function uint32(name, value) {
  return Number(integer(name, value, 0xffffffffn, '[0, 4294967295]'));
}

// Returns the number as text: a JavaScript number holds 53 bits.
export function uint64(name, value) {
  return String(integer(name, value, 0xffffffffffffffffn, '[0, 18446744073709551615]'));
}

// Returns the number of a text of digits, exactly.
export function fromUint64(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

// TypeError unless it is a number: null and texts would become others.
export function number(name, value) {
  if (typeof value === 'number') return value;
  throw new TypeError(`${name} has ${JSON.stringify(value)}, must be a number`);
}

export function finite(name, value) {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new RangeError(`${name} is ${value}, must be a finite number`);
}

// TypeError unless it is the id of a decision: of null and undefined String()
// makes ids that all decisions without one would share.
export function decisionIdOf(value) {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`decisionId is ${value === '' ? 'empty' : String(value)}, must be a string with characters`);
}

// TypeError if `options` has a key that is not among `known`: a misspelt option
// must not be passed over.
export function checkNames(what, options, known) {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new TypeError(`${name} is no option of ${what}, must be one of ${known.join(', ')}`);
  }
}
