// Errors of calls. Arguments that are wrong before anything is sent are TypeError
// or RangeError.
import {status} from '@grpc/grpc-js';

// A call that the server refused, or that did not reach it in time.
export class CallError extends Error {
  // code: a name of gRPC's codes. details: the server's own words. retryAfterMs:
  // when an overloaded server would like to be asked again; else null. tried: the
  // last {server, code, details} of each server that was tried.
  constructor(code, details, {server = '', decisionId = '', attempts = 1, retryAfterMs = null, tried = [], cause} = {}) {
    const times = attempts > 1 ? ` (${attempts} attempts)` : '';
    const named = tried.length > 1 ? tried : [{server, code, details}];
    const reasons = named.map((each) => `server ${each.server}: ${each.code}: ${each.details}`).join('; ');
    super(reasons + times, cause === undefined ? undefined : {cause});
    this.name = new.target.name;
    Object.assign(this, {code, details, server, decisionId, attempts, retryAfterMs, tried});
  }
}

export class CancelledError extends CallError {}
export class DeadlineExceededError extends CallError {}
export class FailedPreconditionError extends CallError {}
export class InvalidArgumentError extends CallError {}
export class NotFoundError extends CallError {}
export class PermissionDeniedError extends CallError {}
export class ResourceExhaustedError extends CallError {}
export class UnauthenticatedError extends CallError {}
export class UnavailableError extends CallError {}

const classes = {
  CANCELLED: CancelledError,
  DEADLINE_EXCEEDED: DeadlineExceededError,
  FAILED_PRECONDITION: FailedPreconditionError,
  INVALID_ARGUMENT: InvalidArgumentError,
  NOT_FOUND: NotFoundError,
  PERMISSION_DENIED: PermissionDeniedError,
  RESOURCE_EXHAUSTED: ResourceExhaustedError,
  UNAUTHENTICATED: UnauthenticatedError,
  UNAVAILABLE: UnavailableError,
};

export function codeName(code) {
  return status[code] ?? 'UNKNOWN';
}

// Returns the error of a gRPC status; a code that gRPC does not define is
// UNKNOWN.
export function callError(code, details, about) {
  const name = codeName(code);
  return new (classes[name] ?? CallError)(name, details, about);
}
