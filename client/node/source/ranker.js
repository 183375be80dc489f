// Asks servers for decisions and reports back.
import {status} from '@grpc/grpc-js';
import * as answers from './answers.js';
import {Call, checkDeadline, checkRetries, defaultRetries} from './calls.js';
import {callError} from './errors.js';
import {ranking} from './methods.js';
import {checkNames, decisionIdOf} from './numbers.js';
import {callNames, decisionRequest, feedbackMessage, shownRequest} from './requests.js';
import {checkTokenStays, securityOf} from './security.js';
import {Servers} from './servers.js';

const optionNames = [
  'addresses', 'token', 'tls', 'plaintextTokens', 'deadlineMs', 'retries', 'model', 'types', 'routingHeader',
];

export class Ranker {
  #servers;
  #headers;
  #deadlineMs;
  #retries;
  #defaults;
  #routingHeader;
  #calls = new Set();  // Under way.
  #isClosed = false;

  constructor(options = {}) {
    checkNames('Ranker', options, optionNames);
    const {addresses = '127.0.0.1:8500', token, tls, deadlineMs = 5000, retries = {}, routingHeader = false} = options;
    const given = typeof retries === 'number' ? {maxAttempts: retries + 1} : retries;
    checkNames('retries', given, Object.keys(defaultRetries));
    this.#retries = {...defaultRetries, ...given};
    checkRetries(this.#retries);
    checkDeadline(deadlineMs);
    this.#deadlineMs = deadlineMs;
    this.#defaults = {model: options.model ?? '', types: options.types};
    this.#routingHeader = routingHeader;
    const security = securityOf(tls, token);
    this.#headers = security.headers;
    this.#servers = new Servers(addresses, security);
    if (token !== undefined && !tls && !options.plaintextTokens) checkTokenStays(this.#servers.all);
  }

  async rank(features, options = {}) {
    return answers.ranking(await this.#decide('rank', ranking.Rank, features, options));
  }

  async select(features, options = {}) {
    return answers.selection(await this.#decide('select', ranking.Select, features, options));
  }

  async label(features, options = {}) {
    return answers.subset(await this.#decide('label', ranking.Label, features, options));
  }

  async aggregate(scores, options = {}) {
    const ids = options.ids && Array.from(options.ids, String);
    return answers.aggregation(await this.#decide('aggregate', ranking.Aggregate, scores, {...options, ids}), ids);
  }

  async shown(decisionId, shown, options = {}) {
    const request = shownRequest(decisionId, shown, options);
    await this.#report(ranking.ReportShown, request, request.decisionId, options);
  }

  // Either (decisionId, {reward, ...}) or ([{decisionId, reward, ...}, ...], {deadlineMs, signal}).
  async feedback(given, options = {}) {
    const isList = Array.isArray(given);
    const {deadlineMs, signal, ...one} = options;
    if (isList) checkNames('feedback', options, callNames);
    const messages = (isList ? given : [{...one, decisionId: given}]).map(feedbackMessage);
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

  async #decide(kind, method, features, options) {
    const request = decisionRequest(kind, features, options, this.#defaults);
    const target = (decisionId, server) => {
      request.context.decisionId = decisionId;
      return this.#target(server, method.requestSerialize(request), decisionId);
    };
    const {decisionId} = options;
    if ((decisionId ?? '') !== '') {
      const id = decisionIdOf(decisionId);
      return this.#run(method, target(id, this.#servers.of(id)), null, options);
    }
    const choose = () => {
      const chosen = this.#servers.newDecision();
      return target(chosen.decisionId, chosen.server);
    };
    return this.#run(method, choose(), choose, options);
  }

  #report(method, request, decisionId, options) {
    const target = this.#target(this.#servers.of(decisionId), method.requestSerialize(request), decisionId);
    return this.#run(method, target, null, options);
  }

  #target(server, bytes, decisionId) {
    const headers = this.#routingHeader ? {...this.#headers, 'x-sortition-decision-id': decisionId} : this.#headers;
    return {server, bytes, headers, decisionId};
  }

  async #run(method, target, choose, {deadlineMs = this.#deadlineMs, signal}) {
    if (this.#isClosed) {
      const about = {server: target.server.address, decisionId: target.decisionId, attempts: 0};
      throw callError(status.CANCELLED, 'the Ranker is closed', about);
    }
    checkDeadline(deadlineMs);
    const call = new Call(method, target, choose, {policy: this.#retries, deadlineMs, signal});
    this.#calls.add(call);
    try {
      return await call.run(this.#servers.all.length === 1);
    } finally {
      this.#calls.delete(call);
    }
  }
}

if (Symbol.dispose) Ranker.prototype[Symbol.dispose] = Ranker.prototype.close;
