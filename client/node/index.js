// Client of Sortition. Types: index.d.ts.
export {
  CallError, CancelledError, DeadlineExceededError, FailedPreconditionError, InvalidArgumentError, NotFoundError,
  PermissionDeniedError, ResourceExhaustedError, UnauthenticatedError, UnavailableError,
} from './source/errors.js';
export {makeId} from './source/ids.js';
export {Ranker} from './source/ranker.js';
