// One call with its retries, its deadline, and its end by the caller.
import {status} from '@grpc/grpc-js';
import {number, refuse} from './arguments.js';
import {callError} from './errors.js';

export const defaultRetries = {maxAttempts: 10, firstBackoffMs: 100, maxBackoffMs: 2000};

export function checkRetries({maxAttempts, firstBackoffMs, maxBackoffMs}) {
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

// A call is repeated where the server is UNAVAILABLE, or, in the moment in which
// its port closes, says CANCELLED though nobody did, or where it is overloaded and
// says when to come back. That is safe for every call:
// the draw is a function of the decision's id, feedback counts once for each
// feedback id, and a repetition goes to the server that the first attempt may
// have reached.
export class Call {
  #policy;
  #signal;
  #method;
  #cancelAttempt = () => {};
  #isCancelled = false;
  #first = null;    // The first error that was followed by a retry.
  #reached = false;
  #pinned = null;   // The one server of several behind one address.

  // target: {server, bytes, headers, decisionId}. `choose` returns another one as
  // long as none was reached; null: it must stay.
  constructor(method, target, choose, {policy, deadlineMs, signal}) {
    Object.assign(this, {target, choose, attempts: 0, end: performance.now() + deadlineMs});
    this.#method = method;
    this.#policy = policy;
    this.#signal = signal;
  }

  // Returns the answer, or throws a CallError.
  async run(mayBeSeveral) {
    const cancel = () => this.cancel();
    this.#signal?.addEventListener('abort', cancel, {once: true});
    try {
      if (this.#signal?.aborted) this.cancel();
      for (let backoff = this.#policy.firstBackoffMs;; backoff = Math.min(2 * backoff, this.#policy.maxBackoffMs)) {
        const {error, answer, peer} = await this.#attempt();
        if (!error) return answer;
        const pause = this.#pauseAfter(error, backoff);
        if (pause === null || this.attempts >= this.#policy.maxAttempts || pause >= this.end - performance.now()) {
          throw this.#failure(error);
        }
        this.#first ??= error;
        if (peer && !this.#reached && mayBeSeveral) this.#pinned = this.target.server.oneOfSeveral(peer);
        this.#reached ||= peer !== null;
        await this.#sleep(pause);
        if (!this.#reached && this.choose) this.target = this.choose();
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
    const {server, bytes, headers} = this.target;
    ++this.attempts;
    const {outcome, cancel} = (this.#pinned ?? server).send(this.#method, bytes, {
      deadline: Date.now() + Math.max(this.end - performance.now(), 1),
      // A retry waits until the server is back, rather than fail at once.
      waitForReady: this.attempts > 1, headers,
    });
    this.#cancelAttempt = cancel;
    return outcome;
  }

  // Returns the milliseconds until the call is repeated; null: it is not.
  #pauseAfter(error, backoff) {
    if (this.#isCancelled) return null;
    if (error.code === status.UNAVAILABLE || error.code === status.CANCELLED) return backoff * Math.random();
    const hint = retryAfterOf(error);
    // Callers that were refused together come back one after the other.
    return error.code === status.RESOURCE_EXHAUSTED && hint !== null ? hint * (1 + Math.random()) : null;
  }

  // Why the server was away says more than that the deadline passed while waiting
  // for it.
  #failure(error) {
    const about = {server: this.target.server.address, decisionId: this.target.decisionId, attempts: this.attempts};
    if (this.#isCancelled) {
      return callError(status.CANCELLED, 'the caller ended the call', {...about, cause: this.#signal?.reason});
    }
    const told = error.code === status.DEADLINE_EXCEEDED && this.#first || error;
    return callError(told.code, told.details, {...about, retryAfterMs: retryAfterOf(told)});
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
