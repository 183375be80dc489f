// Which of several servers a decision belongs to, and which of them are away.
import {createXXHash128} from 'hash-wasm';
import {list, refuse} from './arguments.js';
import {makeId} from './ids.js';
import {Server} from './server.js';

const hasher = await createXXHash128();
const triesEach = 16;
// For how long a server is avoided after a call to it failed; doubled by every
// further failure.
export const firstAvoidanceMs = 200;
export const maxAvoidanceMs = 10000;
// Decisions whose server is remembered, because it is not the one that their id
// chooses.
export const maxMoved = 10000;
// So many answers pay for one retry.
export const answersPerRetry = 10;

// The lower half of XXH3-128, big-endian: texts of the same length compare as
// numbers.
function hashOf(text) {
  return hasher.init().update(text).digest('hex').slice(16);
}

// The id of a decision puts the servers into an order: by the hash of address and
// id, largest first, as in the client libraries of C++ and Python, so that each
// can report for the others. A call goes to the first server of that order, which
// balances the load. Ids that are made here are made for a server that is not
// away.
//
// A server is away while its health watch says so, and for a while after a call
// to it failed. That while doubles as long as failures follow each other. After
// it, one call tries the server again.
export class Servers {
  #now;
  #moved = new Map();  // Decision id → server.
  #maxBudget;
  #budget;  // In answers.

  // `now` returns milliseconds.
  constructor(addresses, security, {retryBudget = 0, now = () => performance.now()} = {}) {
    this.#now = now;
    this.#maxBudget = this.#budget = retryBudget * answersPerRetry;
    this.all = addressList(addresses).map((address) => new Server(address, security));
    if (this.all.length > 1) this.all.forEach((server) => server.watch());
  }

  // Returns the server of a decision: the one that answered, if a call of this
  // client moved it, else the one that the id chooses.
  of(decisionId) {
    return this.#moved.get(decisionId) ?? this.#byHash(decisionId)[0];
  }

  // Returns all servers in the order in which a call about the decision tries
  // them: that of the decision first, and those that are away last.
  route(decisionId) {
    if (this.all.length === 1) return this.all;
    const home = this.of(decisionId);
    return this.thoseAwayLast([home, ...this.#byHash(decisionId).filter((server) => server !== home)]);
  }

  thoseAwayLast(servers) {
    return [...servers].sort((a, b) => this.#isAway(a) - this.#isAway(b));
  }

  // Returns a new id; a few tries look for one of a server that is not away.
  newDecisionId() {
    const numHere = this.all.filter((server) => !this.#isAway(server)).length;
    let tries = numHere === 0 ? 0 : triesEach * Math.ceil(this.all.length / numHere);
    for (;;) {
      const decisionId = makeId();
      if (!this.#isAway(this.of(decisionId)) || tries-- <= 0) return decisionId;
    }
  }

  // A call goes to the server. If the last one failed, others avoid the server
  // until this one has been answered, or for twice as long.
  begin(server) {
    if (server.avoidanceMs === 0 || this.#now() < server.avoidedUntil) return;
    server.avoidanceMs = Math.min(2 * server.avoidanceMs, maxAvoidanceMs);
    server.avoidedUntil = this.#now() + server.avoidanceMs;
  }

  // A call found the server away. Calls that fail together count as one failure.
  failed(server) {
    if (server.avoidanceMs > 0) return;
    server.avoidanceMs = firstAvoidanceMs;
    server.avoidedUntil = this.#now() + firstAvoidanceMs;
  }

  // The server answered a call, be it by an error.
  answered(server) {
    server.isHere();
    this.#budget = Math.min(this.#budget + 1, this.#maxBudget);
  }

  // Takes one retry from the budget of all calls; returns false if it is empty.
  takeRetry() {
    if (this.#budget < answersPerRetry) return false;
    this.#budget -= answersPerRetry;
    return true;
  }

  // Remembers the server that answered, for reports, unless the id chooses it
  // anyway.
  decided(decisionId, server) {
    if (this.all.length === 1 || this.of(decisionId) === server) return;
    this.#moved.set(decisionId, server);
    if (this.#moved.size > maxMoved) this.#moved.delete(this.#moved.keys().next().value);
  }

  #byHash(decisionId) {
    if (this.all.length === 1) return this.all;
    const weights = new Map(this.all.map((server) => [server, hashOf(`${server.address} ${decisionId}`)]));
    return [...this.all].sort((a, b) => weights.get(a) > weights.get(b) ? -1 : 1);
  }

  #isAway(server) {
    return !server.isServing || this.#now() < server.avoidedUntil;
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
  const url = trimmed.find((address) => /^https?:/i.test(address));
  if (url !== undefined) {
    throw new RangeError(`addresses has "${url}", must be host:port of the gRPC port, such as "127.0.0.1:8500", without http://`);
  }
  if (trimmed.length > 0 && trimmed.every((address) => address !== '')) return trimmed;
  throw new RangeError(`addresses are "${given.join(',')}", must be host:port, or several`);
}
