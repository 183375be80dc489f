// Asks servers for decisions and reports back.
import {status} from '@grpc/grpc-js';
import * as answers from './answers.js';
import {decisionIdOf, flag, idTexts, isUnset, object, optionsOf, text} from './arguments.js';
import {Call, checkDeadline, checkRetries, checkSignal, defaultRetries} from './calls.js';
import {callError} from './errors.js';
import {ranking} from './methods.js';
import {decisionRequest, feedbackArguments, rerankArguments, shownRequest} from './requests.js';
import {checkTokenStays, securityOf} from './security.js';
import {Servers} from './servers.js';

export const rankerNames = [
  'addresses', 'token', 'tls', 'plaintextTokens', 'deadlineMs', 'retries', 'model', 'types', 'routingHeader',
  'anyServer',
];

export class Ranker {
  #servers;
  #headers;
  #deadlineMs;
  #retries;
  #defaults;
  #routingHeader;
  #anyServer;
  #calls = new Set();  // Under way.
  #isClosed = false;

  constructor(options) {
    object('the argument of Ranker', options ?? {}, 'an object, such as {addresses: "127.0.0.1:8500"}');
    const given = optionsOf('Ranker', options ?? {}, rankerNames);
    const {addresses = '127.0.0.1:8500', token, tls, deadlineMs = 5000, retries = {}, types = {}} = given;
    const policy = typeof retries === 'number' ? {maxAttempts: retries + 1} :
        optionsOf('retries', object('retries', retries, 'a number, or an object'), Object.keys(defaultRetries));
    this.#retries = {...defaultRetries, ...policy};
    checkRetries(this.#retries);
    checkDeadline(deadlineMs);
    this.#deadlineMs = deadlineMs;
    this.#defaults = {model: text('model', given.model ?? ''), types: object('types', types)};
    this.#routingHeader = flag('routingHeader', given.routingHeader ?? false);
    this.#anyServer = flag('anyServer', given.anyServer ?? false);
    const mayBePlaintext = flag('plaintextTokens', given.plaintextTokens ?? false);
    if (tls !== undefined && typeof tls !== 'boolean') object('tls', tls, 'true or an object');
    const security = securityOf(tls, token);
    this.#headers = security.headers;
    this.#servers = new Servers(addresses, security, {retryBudget: this.#retries.budget});
    if (token !== undefined && !tls && !mayBePlaintext) checkTokenStays(this.#servers.all);
  }

  async rank(features, options) {
    return answers.ranking(await this.#decide('rank', ranking.Rank, features, options));
  }

  async rerank(query, documents, options) {
    const [rows, given] = rerankArguments(query, documents, options ?? {});
    return answers.ranking(await this.#decide('rank', ranking.Rank, rows, given, 'documents'));
  }

  async select(features, options) {
    return answers.selection(await this.#decide('select', ranking.Select, features, options));
  }

  async label(features, options) {
    return answers.subset(await this.#decide('label', ranking.Label, features, options));
  }

  async aggregate(scores, options) {
    // An iterable can be read once.
    const ids = isUnset(options?.ids) ? undefined : idTexts(options.ids);
    const given = ids ? {...options, ids} : options;
    return answers.aggregation(await this.#decide('aggregate', ranking.Aggregate, scores, given), ids);
  }

  async shown(decisionId, shown, options) {
    const request = shownRequest(decisionId, shown, options ?? {});
    await this.#report(ranking.ReportShown, request, request.decisionId, options ?? {});
  }

  // Either (decisionId, {reward, ...}), or ({decisionId, reward, ...}, {deadlineMs, signal}) and a list of those.
  async feedback(given, options) {
    const {messages, deadlineMs, signal} = feedbackArguments(given, options);
    const parts = new Map();
    for (const message of messages) {
      const server = this.#servers.of(message.decisionId);
      if (!parts.has(server)) parts.set(server, []);
      parts.get(server).push(message);
    }
    // The feedback of others must not depend on a server that is away.
    const outcomes = await Promise.allSettled(Array.from(parts.values(), (feedback) =>
      this.#report(ranking.ReportFeedback, {feedback}, feedback[0].decisionId, {deadlineMs, signal})));
    const failed = outcomes.find(({status}) => status === 'rejected');
    // With their ids: who sends them again counts none twice.
    if (failed) throw Object.assign(failed.reason, {feedback: messages});
    return outcomes.reduce((sum, {value}) => sum + value.accepted, 0);
  }

  // Returns whether each address serves, as far as its health watch has said.
  serving() {
    return Object.fromEntries(this.#servers.all.map(({address, isServing}) => [address, isServing]));
  }

  close() {
    this.#isClosed = true;
    this.#calls.forEach((call) => call.cancel());
    this.#servers.close();
  }

  // name: what the caller calls `features`.
  async #decide(kind, method, features, given, name) {
    const options = given ?? {};
    const request = decisionRequest(kind, features, options, this.#defaults, name);
    const wanted = options.decisionId ?? '';
    const decisionId = wanted === '' ? this.#servers.newDecisionId() : decisionIdOf(wanted);
    request.context.decisionId = decisionId;
    const call = this.#call(method, request, decisionId, this.#servers.route(decisionId), options);
    const answer = await this.#run(call);
    this.#servers.decided(decisionId, call.server);
    return answer;
  }

  async #report(method, request, decisionId, options) {
    // Only the log of its server has the decision, unless all logs are joined.
    const route = this.#anyServer ? this.#servers.route(decisionId) : [this.#servers.of(decisionId)];
    return this.#run(this.#call(method, request, decisionId, route, options));
  }

  #call(method, request, decisionId, route, options) {
    const deadlineMs = options.deadlineMs ?? this.#deadlineMs;
    const signal = options.signal ?? undefined;
    if (this.#isClosed) {
      throw callError(status.CANCELLED, 'the Ranker is closed', {server: route[0].address, decisionId, attempts: 0});
    }
    checkDeadline(deadlineMs);
    checkSignal(signal);
    const headers = this.#routingHeader ? {...this.#headers, 'x-sortition-decision-id': decisionId} : this.#headers;
    return new Call(method, {bytes: method.requestSerialize(request), headers, decisionId}, route, this.#servers,
        {policy: this.#retries, deadlineMs, signal});
  }

  async #run(call) {
    this.#calls.add(call);
    try {
      return await call.run(this.#servers.all.length === 1 && !this.#anyServer);
    } finally {
      this.#calls.delete(call);
    }
  }
}

if (Symbol.dispose) Ranker.prototype[Symbol.dispose] = Ranker.prototype.close;
