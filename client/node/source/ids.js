// Ids for requests that bring none.
import {randomBytes} from 'node:crypto';

// Returns a time-ordered UUID, version 7 (RFC 9562, section 5.7), as text of 36
// characters.
export function makeId() {
  const random = randomBytes(10);
  random[0] = 0x70 | (random[0] & 0x0f);
  random[2] = 0x80 | (random[2] & 0x3f);
  const text = Date.now().toString(16).padStart(12, '0') + random.toString('hex');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
