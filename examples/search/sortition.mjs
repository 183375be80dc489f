// The three calls of a front end: rank, shown, feedback, as JSON over HTTP
// (docs/http.md).
import {randomUUID} from 'node:crypto';
import {Agent, request} from 'node:http';

// The server does not answer, or answers with an error.
export class CallError extends Error {
  constructor(message, code) {
    super(message);
    this.code = code;  // Of HTTP; 0: no answer.
  }
}

// A decision id. Whoever asks makes it, and so may ask again: the same id gets
// the same answer and is logged as one decision.
export function newDecisionId() {
  return randomUUID();
}

// Returns a RankRequest for the sentences of a question, in the order in which
// the page would show them by itself: the empty baseline says so. Until there
// is a model, most visitors get this order.
export function rankRequest({decisionId, question, sentences, topK, unit, visitor}) {
  return {
    context: {
      decision_id: decisionId,
      unit_id: unit,
      attributes: {visitor},
      baseline: {},
      candidates: {columns: {
        num_candidates: sentences.length,
        query: [{name: 'question', texts: {values: [question]}}],
        candidate: [{name: 'sentence', texts: {values: sentences}}],
      }},
    },
    top_k: Math.min(topK, sentences.length),
  };
}

// Asks one server. Calls are repeated, unchanged, where it may help.
export class Sortition {
  // `url`: of its HTTP port. `token`: a bearer token, or empty.
  constructor(url, {token = '', attempts = 3, waitMs = 100, timeoutMs = 2000} = {}) {
    this.url = url;
    this.headers = {'content-type': 'application/json', ...token && {authorization: `Bearer ${token}`}};
    this.attempts = attempts;
    this.waitMs = waitMs;
    this.timeoutMs = timeoutMs;
    // The server has few threads for HTTP: more connections would only wait.
    this.agent = new Agent({keepAlive: true, maxSockets: 4});
  }

  rank(request) {
    return this.call('/v1/rank', request);
  }

  shown(request) {
    return this.call('/v1/shown', request);
  }

  feedback(request) {
    return this.call('/v1/feedback', request);
  }

  // Returns the answer. Throws a CallError.
  async call(path, body) {
    const text = JSON.stringify(body);
    for (let attempt = 1; ; ++attempt) {
      try {
        return await this.callOnce(path, text);
      } catch (error) {
        const mayHelp = error.code === 0 || error.code === 429 || error.code >= 503;
        if (!mayHelp || attempt === this.attempts) throw error;
        await new Promise((resolve) => { setTimeout(resolve, this.waitMs * attempt); });
      }
    }
  }

  callOnce(path, text) {
    return new Promise((resolve, reject) => {
      const noAnswer = (error) => reject(new CallError(`${this.url}${path}: ${error.message}`, 0));
      const asked = request(`${this.url}${path}`, {method: 'POST', agent: this.agent,
        timeout: this.timeoutMs, headers: {...this.headers, 'content-length': Buffer.byteLength(text)}});
      asked.on('error', noAnswer);
      asked.on('timeout', () => asked.destroy(new Error(`no answer in ${this.timeoutMs} ms`)));
      asked.on('response', (response) => {
        const parts = [];
        response.on('error', noAnswer);
        response.on('data', (part) => parts.push(part));
        response.on('end', () => {
          try {
            resolve(parseAnswer(response.statusCode, Buffer.concat(parts).toString()));
          } catch (error) {
            reject(error);
          }
        });
      });
      asked.end(text);
    });
  }

  close() {
    this.agent.destroy();
  }
}

function parseAnswer(code, text) {
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new CallError(`the answer with status ${code} is not JSON`, code === 200 ? 502 : code);
  }
  if (code !== 200) throw new CallError(`${answer.code}: ${answer.message}`, code);
  return answer;
}
