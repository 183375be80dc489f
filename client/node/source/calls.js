// One call with its retries, its deadline, and its end by the caller.
import {status} from '@grpc/grpc-js';
import {number, refuse} from './arguments.js';
import {callError, codeName} from './errors.js';

export const defaultRetries = {maxAttempts: 10, firstBackoffMs: 100, maxBackoffMs: 2000, budget: 500};

export function checkRetries({maxAttempts, firstBackoffMs, maxBackoffMs, budget}) {
  if (!Number.isInteger(budget) || budget < 0) {
    refuse('retries.budget', budget, 'an integer of at least 0', RangeError);
  }
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1) {
    refuse('retries.maxAttempts', maxAttempts, 'an integer of at least 1', RangeError);
  }
  number('retries.firstBackoffMs', firstBackoffMs);
  number('retries.maxBackoffMs', maxBackoffMs);
  if (!(firstBackoffMs >= 0 && firstBackoffMs <= maxBackoffMs && maxBackoffMs < Infinity)) {
    throw new RangeError(`retries.firstBackoffMs is ${firstBackoffMs}, must be in [0, maxBackoffMs = ${maxBackoffMs}]`);
  }
}

export function checkDeadline(deadlineMs) {
  if (!(typeof deadlineMs === 'number' && deadlineMs > 0 && deadlineMs <= 2 ** 31 - 1)) {
    refuse('deadlineMs', deadlineMs, 'a number of milliseconds in (0, 2147483647]', RangeError);
  }
}

export function checkSignal(signal) {
  if (signal !== undefined && !(typeof signal?.addEventListener === 'function' && 'aborted' in signal)) {
    refuse('signal', signal, 'an AbortSignal, such as AbortController.signal');
  }
}

// Returns when an overloaded server would like to be asked again; else null.
function retryAfterOf({metadata}) {
  const after = Number(metadata?.get('grpc-retry-pushback-ms')[0] ?? NaN);
  return after >= 0 ? after : null;
}

// A call is repeated if the server is away (UNAVAILABLE or, in the moment in which
// its port closes, CANCELLED though the caller did not cancel), or if it is
// overloaded and returns when to come back. The repetition has the same ids.
//
// A call tries each server of its route once, without a pause. An attempt may take
// half of the time that is left, as long as there is another server to try. If all
// of them failed, the call pauses and begins another round. If the route has
// several servers, each attempt of a further round takes one from the retry budget.
export class Call {
  #policy;
  #signal;
  #method;
  #servers;
  #backoff;
  #cancelAttempt = () => {};
  #isCancelled = false;
  #round = 1;
  #untried;          // Of this round.
  #first = null;     // The first failure that was followed by a retry.
  #tried = new Map();  // Server → its last failure.
  #reached = false;
  #pinned = null;    // The one server of several behind one address.

  // request: {bytes, headers, decisionId}. route: the servers that the call may
  // try, in this order.
  constructor(method, request, route, servers, {policy, deadlineMs, signal}) {
    Object.assign(this, {request, route, attempts: 0, end: performance.now() + deadlineMs});
    this.#method = method;
    this.#servers = servers;
    this.#policy = policy;
    this.#backoff = policy.firstBackoffMs;
    this.#signal = signal;
    this.#untried = [...route];
    this.server = this.#untried.shift();
  }

  // Returns the answer, which is that of `server`, or throws a CallError. `pins`:
  // if the address stands for several servers, the call stays with the one that it
  // reached.
  async run(pins) {
    const cancel = () => this.cancel();
    this.#signal?.addEventListener('abort', cancel, {once: true});
    try {
      if (this.#signal?.aborted) this.cancel();
      for (;;) {
        const {error, answer, peer} = await this.#attempt();
        if (!error) {
          this.#servers.answered(this.server);
          return answer;
        }
        const pause = this.#pauseAfter(error);
        if (pause === null) throw this.#failure(error);
        if (peer && !this.#reached && pins) this.#pinned = this.server.oneOfSeveral(peer);
        this.#reached ||= peer !== null;
        if (pause > 0) await this.#sleep(pause);
      }
    } finally {
      this.#signal?.removeEventListener('abort', cancel);
      this.#pinned?.close();
    }
  }

  // Ends the call as CANCELLED. What was sent may be decided and logged.
  cancel() {
    this.#isCancelled = true;
    this.#cancelAttempt();
  }

  async #attempt() {
    if (this.#isCancelled) return {error: {code: status.CANCELLED, details: ''}, peer: null};
    ++this.attempts;
    this.#servers.begin(this.server);
    const left = Math.max(this.end - performance.now(), 1);
    this.timeoutMs = this.#untried.length > 0 ? left / 2 : left;
    const {bytes, headers} = this.request;
    const {outcome, cancel} = (this.#pinned ?? this.server).send(this.#method, bytes, {
      deadline: Date.now() + this.timeoutMs,
      // Without another server a retry waits until this one is back, rather than
      // fail at once.
      waitForReady: this.attempts > 1 && !this.#hasSeveral(), headers,
    });
    this.#cancelAttempt = cancel;
    return outcome;
  }

  #hasSeveral() {
    return this.route.length > 1;
  }

  // Returns the milliseconds until the next attempt, which goes to `server`; null:
  // there is none, because the error is an answer or nothing is left to try.
  #pauseAfter(error) {
    if (this.#isCancelled) return null;
    const failure = this.#note(error);
    const gaveNoAnswer = error.code === status.DEADLINE_EXCEEDED && this.#hasSeveral() && performance.now() < this.end;
    const hint = error.code === status.RESOURCE_EXHAUSTED ? retryAfterOf(error) : null;
    if (error.code === status.UNAVAILABLE || error.code === status.CANCELLED || gaveNoAnswer) {
      this.#servers.failed(this.server);
    } else if (hint === null) {
      if (error.code !== status.DEADLINE_EXCEEDED) this.#servers.answered(this.server);
      return null;
    }
    if (this.#untried.length > 0) {
      if (this.#round > 1 && !this.#servers.takeRetry()) return null;
      this.#first ??= failure;
      this.server = this.#untried.shift();
      return 0;
    }
    // Callers that were refused together come back one after the other.
    const pause = hint === null ? this.#backoff * Math.random() : hint * (1 + Math.random());
    if (this.#round >= this.#policy.maxAttempts || pause >= this.end - performance.now()) return null;
    if (this.#hasSeveral() && !this.#servers.takeRetry()) return null;
    this.#first ??= failure;
    this.#backoff = Math.min(2 * this.#backoff, this.#policy.maxBackoffMs);
    ++this.#round;
    this.#untried = this.#servers.thoseAwayLast(this.route);
    this.server = this.#untried.shift();
    return pause;
  }

  // Keeps the failure for the error that the caller may get.
  #note({code, details, metadata}) {
    const isLate = code === status.DEADLINE_EXCEEDED;
    const failure = {server: this.server.address, code: codeName(code), details, metadata, status: code};
    if (isLate && this.#hasSeveral()) failure.details = `no answer within ${Math.round(this.timeoutMs)} ms`;
    const before = this.#tried.get(this.server);
    this.#tried.delete(this.server);
    // Why the server was away says more than that the time was over.
    this.#tried.set(this.server, isLate && before || failure);
    return failure;
  }

  // Why a server was away says more than that the deadline passed while waiting
  // for it.
  #failure(error) {
    const about = {server: this.server.address, decisionId: this.request.decisionId, attempts: this.attempts};
    if (this.#isCancelled) {
      return callError(status.CANCELLED, 'the caller ended the call', {...about, cause: this.#signal?.reason});
    }
    const isLate = error.code === status.DEADLINE_EXCEEDED;
    const told = isLate && this.#first || {...error, server: this.server.address, status: error.code};
    const tried = Array.from(this.#tried.values(), ({server, code, details}) => ({server, code, details}));
    return callError(told.status, told.details,
        {...about, server: told.server, retryAfterMs: retryAfterOf(told), tried});
  }

  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#cancelAttempt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
