// Which of several servers a decision belongs to, and which of them serve.
import {createXXHash128} from 'hash-wasm';
import {list, refuse} from './arguments.js';
import {makeId} from './ids.js';
import {Server} from './server.js';

const hasher = await createXXHash128();
const triesEach = 16;

// The lower half of XXH3-128, big-endian: texts of the same length compare as
// numbers.
function hashOf(text) {
  return hasher.init().update(text).digest('hex').slice(16);
}

// All calls about a decision go to the one server that its id chooses: retries
// and feedback must meet the spool of the decision. It is the address whose hash
// with the id is the largest, as in the client libraries of C++ and Python, so
// that each can report for the others. Load is balanced by the hash; ids that are
// made here are made for a server that serves.
export class Servers {
  constructor(addresses, security) {
    this.all = addressList(addresses).map((address) => new Server(address, security));
    if (this.all.length > 1) this.all.forEach((server) => server.watch());
  }

  // Returns the server of a decision.
  of(decisionId) {
    if (this.all.length === 1) return this.all[0];
    let best = null;
    for (const server of this.all) {
      const weight = hashOf(`${server.address} ${decisionId}`);
      if (best === null || weight > best.weight) best = {server, weight};
    }
    return best.server;
  }

  // Returns a new id and its server: one that serves, if a few tries find it.
  newDecision() {
    const numServing = this.all.filter(({isServing}) => isServing).length;
    let tries = numServing === 0 ? 0 : triesEach * Math.ceil(this.all.length / numServing);
    for (;;) {
      const decisionId = makeId();
      const server = this.of(decisionId);
      if (server.isServing || tries-- <= 0) return {decisionId, server};
    }
  }

  close() {
    this.all.forEach((server) => server.close());
  }
}

// One of gRPC's own lists ("ipv4:a,b") is one address.
function addressList(addresses) {
  const isOne = typeof addresses === 'string' && /^ipv[46]:/.test(addresses);
  const given = isOne ? [addresses] : typeof addresses === 'string' ? addresses.split(',') :
      list('addresses', addresses, 'host:port');
  const trimmed = given.map((address, i) => typeof address === 'string' ? address.trim() :
      refuse(`addresses[${i}]`, address, 'a string, such as "127.0.0.1:8500"'));
  if (trimmed.length > 0 && trimmed.every((address) => address !== '')) return trimmed;
  throw new RangeError(`addresses are "${given.join(',')}", must be host:port, or several`);
}
