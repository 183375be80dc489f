// Types of the client. What fields mean in full is in proto/sortition/v1/ranking.proto
// of the package.

/** A value of a named column; null, undefined and NaN are missing. */
export type ColumnValue =
  number | boolean | string | Set<string> | readonly string[] | readonly number[] | Float32Array | null | undefined;
export type ColumnType = 'number' | 'category' | 'text' | 'category_set' | 'vector';

/** Candidates of n rows and d features: an array for each row, or one row after the other. */
export type Rows = ReadonlyArray<ArrayLike<number>>;
/** Candidates by named columns: an object for each. */
export type NamedRows = ReadonlyArray<Readonly<Record<string, ColumnValue>>>;
/** Candidates of a rerank. */
export type Documents = ReadonlyArray<string | Readonly<Record<string, ColumnValue>>>;
/** Compressed sparse rows: row i has columns[rowOffsets[i] .. rowOffsets[i + 1]), ascending. */
export interface SparseRows {
  rowOffsets: ArrayLike<number>;
  columns: ArrayLike<number>;
  values: ArrayLike<number>;
}
export type Flat = Float32Array | Float64Array | SparseRows;

/**
 * Strings, numbers, bigints, or objects with a toString of their own. A text is no list of ids,
 * though it is iterable.
 */
export type Ids<Id> = Iterable<Id> & object;

export interface CallOptions {
  /** Milliseconds for all attempts; default: the Ranker's. */
  deadlineMs?: number;
  /** Ends the call with a CancelledError. What was sent may be decided and logged. */
  signal?: AbortSignal;
}

export interface Baseline {
  /** document_index: by rank; the one; the subset. */
  action?: Iterable<number>;
  abstain?: boolean;
  /** Natural logarithm of the probability with which the caller chose it; unset: it always would. */
  logPropensity?: number;
}

export interface DecisionOptions<Id = unknown> extends CallOptions {
  /** One for each candidate; answers have them. */
  ids?: Ids<Id>;
  /** Named columns of the query. */
  query?: Readonly<Record<string, ColumnValue>>;
  /** Of named columns, where values do not show them: strings are texts unless said otherwise. */
  types?: Readonly<Record<string, ColumnType>>;
  /** At most 128 bytes; unset: made here. */
  decisionId?: string;
  model?: string;
  /** A string has digits: JSON holds 53 bits of a number. */
  version?: number | bigint | string;
  label?: string;
  /** One for each candidate; unset: all are. */
  eligible?: Iterable<boolean>;
  /** Replaces the id as source of the draw: for tests. */
  seed?: number | bigint | string;
  /** Whose decision it is, such as a user; at most 128 bytes. */
  unitId?: string;
  attributes?: Readonly<Record<string, string>>;
  /** What the caller would do; a list is an action that is certain. */
  baseline?: Iterable<number> | Baseline;
  scores?: boolean;
  probabilities?: boolean;
  game?: boolean;
}
export interface RankOptions<Id = unknown> extends DecisionOptions<Id> {
  /** Ranks to fill, at least 1; unset: all. */
  topK?: number;
}
export interface LabelOptions<Id = unknown> extends DecisionOptions<Id> {
  /** Size of the subset, for policies of fixed size; unset: the model's own. */
  k?: number;
}
export interface AggregateOptions<Id = unknown> extends Omit<DecisionOptions<Id>, 'query' | 'types'> {
  scale?: 'MIN_MAX' | 'RANK' | 'NONE';
  /** One for each source; unset: all are 1. */
  weights?: Iterable<number>;
  topK?: number;
  divergence?: 'DCG' | 'ALL_PAIRS' | 'TOP';
  cutoff?: number;
  /** In (0, 1e6]: the order is drawn around the mean; unset: it is certain. */
  concentration?: number;
  head?: number;
  uniformMixture?: number;
  bootstrapSamples?: number;
  confidence?: number;
}
/** Then answers have places in the request, document_index, instead of ids. */
export interface NoIds {
  ids?: undefined;
}
/** Of features in one flat array. */
export interface Width {
  /** Features of a candidate. */
  numFeatures: number;
}

export interface Decision {
  decisionId: string;
  model: string;
  /** 0: the uniform policy. A bigint beyond 2^53. */
  version: number | bigint;
  /** Natural logarithm of the probability of the whole action. */
  logPropensity: number;
  propensity: number;
  /** Why the answer falls short of what was asked for; usually empty. */
  degraded: string;
  /** On request: one for each candidate. */
  scores: number[] | null;
  probabilities: number[] | null;
  game: {lower: number; upper: number; rounds: number} | null;
  /** Of coming to this version; 0: traffic is not split. */
  armProbability: number;
  isBaseline: boolean;
  /** 0: none. */
  interleavedVersion: number | bigint;
}
export interface Ranking<Id = string> extends Decision {
  /** document_index by rank. */
  order: number[];
  /** The same candidates by id; by document_index if they have no ids. */
  ids: Id[];
  /** Of each rank, given the ranks above. */
  conditionalLogPropensities: number[];
}
export interface Selection<Id = string> extends Decision {
  /** document_index; null: the policy abstained. */
  selected: number | null;
  id: Id | null;
  abstained: boolean;
  /** With `probabilities`. */
  abstainProbability: number;
}
export interface Subset<Id = string> extends Decision {
  /** document_index, ascending. */
  chosen: number[];
  ids: Id[];
}
export interface Aggregation<Id = string> extends Ranking<Id> {
  /** Of each source from the order. */
  divergences: number[];
  totalVariation: number;
  /** How certain it is that the candidate at `rank` belongs above the next one. */
  pairs: {rank: number; difference: number; lower: number; upper: number; support: number}[];
}

export interface ShownOptions extends CallOptions {
  /** Rank of shown[0], of a later page. */
  firstRank?: number;
  /** The user looked at the first so many ranks. */
  seenRanks?: number;
  /** The user saw none of it; `shown` is empty then. */
  notShown?: boolean;
}
/** Higher rewards are better, lower losses are. */
export type Value = {reward: number; loss?: undefined} | {loss: number; reward?: undefined};
export type FeedbackValue = Value & {
  /** From 0 at the top; unset: it is about the whole action. */
  rank?: number;
  /** document_index, in place of `rank`: the join finds its rank. */
  index?: number;
  /** Counts once; unset: made here. */
  feedbackId?: string;
};
export type Feedback = FeedbackValue & {decisionId: string};

export interface Tls {
  /** PEM: who may sign the server's certificate; unset: whom Node trusts. */
  ca?: string | Uint8Array;
  /** PEM: shown to the server, with its key. */
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
  /** In the server's certificate; unset: the host of the address. */
  serverName?: string;
}
export interface RankerOptions {
  /** host:port, or several, as a list or separated by commas. Default 127.0.0.1:8500. */
  addresses?: string | readonly string[];
  /** Bearer token. */
  token?: string;
  /** true: TLS with whom Node trusts; unset: plain text. */
  tls?: boolean | Tls;
  /** Sends the token to other machines over plain text: something in between encrypts it. */
  plaintextTokens?: boolean;
  /** Milliseconds of a call with its retries, in (0, 2^31). Default 5000. */
  deadlineMs?: number;
  /**
   * How often a call is repeated at each address at most (default 9), or how. `budget` (500): repetitions
   * of a Ranker with several addresses, after each of them has failed a call once; ten answers give one back.
   */
  retries?: number | {maxAttempts?: number; firstBackoffMs?: number; maxBackoffMs?: number; budget?: number};
  /** Of calls that do not say otherwise. */
  model?: string;
  types?: Readonly<Record<string, ColumnType>>;
  /** Sends x-sortition-decision-id, by which a load balancer can choose the server. */
  routingHeader?: boolean;
  /**
   * The spools of all servers are joined together, so that reports, too, may go to another server if the one
   * of their decision is away.
   */
  anyServer?: boolean;
}

/**
 * Asks servers for decisions and reports back. Errors: CallError of the server or the connection;
 * TypeError and RangeError of arguments.
 */
export class Ranker {
  constructor(options?: RankerOptions);
  /** Draws an order of the candidates, or its first `topK` ranks. */
  rank<Id>(features: Flat, options: RankOptions<Id> & Width & {ids: Ids<Id>}): Promise<Ranking<string>>;
  rank<Id>(features: Rows | NamedRows, options: RankOptions<Id> & {ids: Ids<Id>}): Promise<Ranking<string>>;
  rank(features: Flat, options: RankOptions & Width & NoIds): Promise<Ranking<number>>;
  rank(features: Rows | NamedRows, options?: RankOptions & NoIds): Promise<Ranking<number>>;
  rank(features: Flat, options: RankOptions & Width): Promise<Ranking<string | number>>;
  rank(features: Rows | NamedRows, options?: RankOptions): Promise<Ranking<string | number>>;
  /**
   * Draws an order of texts, or of objects with `text` and other named columns, for a query. What is
   * decided and logged is what POST /v1/rerank decides: the baseline is the given order.
   */
  rerank<Id>(query: string, documents: Documents, options: RankOptions<Id> & {ids: Ids<Id>}): Promise<Ranking<string>>;
  rerank(query: string, documents: Documents, options?: RankOptions & NoIds): Promise<Ranking<number>>;
  rerank(query: string, documents: Documents, options?: RankOptions): Promise<Ranking<string | number>>;
  /** Draws one candidate, or none if the policy abstains. */
  select<Id>(features: Flat, options: DecisionOptions<Id> & Width & {ids: Ids<Id>}): Promise<Selection<string>>;
  select<Id>(features: Rows | NamedRows,
      options: DecisionOptions<Id> & {ids: Ids<Id>}): Promise<Selection<string>>;
  select(features: Flat, options: DecisionOptions & Width & NoIds): Promise<Selection<number>>;
  select(features: Rows | NamedRows, options?: DecisionOptions & NoIds): Promise<Selection<number>>;
  select(features: Flat, options: DecisionOptions & Width): Promise<Selection<string | number>>;
  select(features: Rows | NamedRows, options?: DecisionOptions): Promise<Selection<string | number>>;
  /** Draws a subset of the candidates. */
  label<Id>(features: Flat, options: LabelOptions<Id> & Width & {ids: Ids<Id>}): Promise<Subset<string>>;
  label<Id>(features: Rows | NamedRows, options: LabelOptions<Id> & {ids: Ids<Id>}): Promise<Subset<string>>;
  label(features: Flat, options: LabelOptions & Width & NoIds): Promise<Subset<number>>;
  label(features: Rows | NamedRows, options?: LabelOptions & NoIds): Promise<Subset<number>>;
  label(features: Flat, options: LabelOptions & Width): Promise<Subset<string | number>>;
  label(features: Rows | NamedRows, options?: LabelOptions): Promise<Subset<string | number>>;
  /** Combines score lists: `scores` has a row for each candidate and a column for each source. */
  aggregate<Id>(scores: Float32Array | Float64Array,
      options: AggregateOptions<Id> & Width & {ids: Ids<Id>}): Promise<Aggregation<string>>;
  aggregate<Id>(scores: Rows, options: AggregateOptions<Id> & {ids: Ids<Id>}): Promise<Aggregation<string>>;
  aggregate(scores: Float32Array | Float64Array,
      options: AggregateOptions & Width & NoIds): Promise<Aggregation<number>>;
  aggregate(scores: Rows, options?: AggregateOptions & NoIds): Promise<Aggregation<number>>;
  aggregate(scores: Float32Array | Float64Array,
      options: AggregateOptions & Width): Promise<Aggregation<string | number>>;
  aggregate(scores: Rows, options?: AggregateOptions): Promise<Aggregation<string | number>>;
  /** Reports what the user saw: document_index by rank. */
  shown(decisionId: string, shown: Iterable<number>, options?: ShownOptions): Promise<void>;
  /**
   * Reports what came of a decision; returns how many were accepted. Of a list with several servers
   * one can fail: the feedback of the others is accepted, and the error has all of it, with ids, as
   * `feedback`, to be sent again.
   */
  feedback(decisionId: string, value: FeedbackValue & CallOptions): Promise<number>;
  feedback(feedback: Feedback | readonly Feedback[], options?: CallOptions): Promise<number>;
  /** Whether each of several addresses serves, as far as its health watch has said. */
  serving(): Record<string, boolean>;
  /** Ends the connections; calls under way and later ones end with a CancelledError. */
  close(): void;
}

/** Returns a time-ordered UUID (version 7), for a decision or feedback. */
export function makeId(): string;

/** How a server failed a call. */
export interface Try {
  server: string;
  /** A name of gRPC's codes. */
  code: string;
  details: string;
}

/** A call that the server refused, or that did not reach it in time. */
export class CallError extends Error {
  constructor(code: string, details: string,
      about?: {server?: string; decisionId?: string; attempts?: number; retryAfterMs?: number | null;
        tried?: Try[]; cause?: unknown});
  /** A name of gRPC's codes: "INVALID_ARGUMENT". */
  code: string;
  /** The server's own words; `message` has server and code beside. */
  details: string;
  server: string;
  /** The id that was sent, also where it was made here: who repeats the decision sends it again. */
  decisionId: string;
  attempts: number;
  /** When an overloaded server would like to be asked again; else null. */
  retryAfterMs: number | null;
  /** The last failure of each server that was tried; `message` has all of them. */
  tried: Try[];
  /** Of `feedback`: what was sent, with ids. */
  feedback?: Feedback[];
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
