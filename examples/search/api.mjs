// What the page asks its server, and what the server asks Sortition for it.
import {clickOf} from './visitors.mjs';
import {newDecisionId, rankRequest} from './sortition.mjs';

export const topK = 10;
const mostDecisions = 10000;  // Which are remembered, for clicks.
const mostTextLength = 500;

// The page asked for something that is not possible.
export class BadRequest extends Error {
  constructor(message, code = 400) {
    super(message);
    this.code = code;
  }
}

export class Api {
  // `visitors`: null where nobody is simulated. `status`: address of the status
  // page.
  constructor({sortition, index, visitors, status}) {
    Object.assign(this, {sortition, index, visitors, status});
    this.decisions = new Map();  // From an id to the number of ranks.
    this.get = {
      '/api/state': () => this.state(),
      '/api/questions': (query) => this.suggest(query),
    };
    this.post = {
      '/api/search': (body) => this.search(body),
      '/api/seen': (body) => this.seen(body),
      '/api/click': (body) => this.click(body),
      '/api/thumb': (body) => this.thumb(body),
      '/api/visitors': (body) => this.setVisitors(body),
    };
  }

  state() {
    return {status: this.status, questions: this.index.questions.length,
      visitors: this.visitors?.state() ?? null};
  }

  // Questions that share words with `words`; without words one by chance.
  suggest(query) {
    const words = text('words', query.get('words') ?? '');
    const {questions} = this.index;
    const found = words ? this.index.find(words, 8) :
                          [questions[Math.floor(Math.random() * questions.length)]];
    return {questions: found.map(({question}) => question)};
  }

  // Ranks the sentences of the question that is nearest to what was asked.
  async search(body) {
    const asked = text('question', body.question).trim();
    const unit = text('unit', body.unit ?? '').slice(0, 100);
    const [found] = this.index.find(asked, 1);
    if (!found) throw new BadRequest('no question shares a word with this one', 404);
    const request = rankRequest({decisionId: newDecisionId(), question: asked, topK,
      sentences: found.sentences, unit, visitor: 'person'});
    const answer = await this.sortition.rank(request);
    const {result, order, conditional_log_propensities: logs} = answer;
    this.remember(result.decision_id, order.length);
    return {
      decision_id: result.decision_id,
      question: found.question,
      version: result.model.version,
      log_propensity: result.log_propensity,
      results: order.map((index, rank) => ({sentence: found.sentences[index],
        probability: Math.exp(logs[rank])})),
      call: {path: '/v1/rank', request, answer},
    };
  }

  // How many of the first ranks were in view. May be said again as it grows.
  async seen(body) {
    const decisionId = this.known(body);
    const seenRanks = whole('seen_ranks', body.seen_ranks, 1, this.decisions.get(decisionId));
    const request = {decision_id: decisionId, seen_ranks: seenRanks};
    return {call: {path: '/v1/shown', request, answer: await this.sortition.shown(request)}};
  }

  async click(body) {
    const decisionId = this.known(body);
    const rank = whole('rank', body.rank, 0, this.decisions.get(decisionId) - 1);
    return this.reportFeedback(clickOf(decisionId, rank));
  }

  // A verdict about the whole page: a reward, or a loss, without a rank.
  async thumb(body) {
    const decisionId = this.known(body);
    if (typeof body.up !== 'boolean') throw new BadRequest(`up is ${body.up}, must be true or false`);
    // One id for both: the first verdict counts.
    return this.reportFeedback({feedback_id: `${decisionId}-thumb`, decision_id: decisionId,
      ...body.up ? {reward: 1} : {loss: 1}});
  }

  setVisitors(body) {
    if (!this.visitors) throw new BadRequest('visitors are off: start the server with --visitors', 403);
    try {
      this.visitors.setRate(body.rate);
    } catch (error) {
      throw new BadRequest(error.message);
    }
    return this.visitors.state();
  }

  async reportFeedback(item) {
    const request = {feedback: [item]};
    return {call: {path: '/v1/feedback', request, answer: await this.sortition.feedback(request)}};
  }

  remember(decisionId, numRanks) {
    this.decisions.set(decisionId, numRanks);
    if (this.decisions.size > mostDecisions) this.decisions.delete(this.decisions.keys().next().value);
  }

  known(body) {
    const decisionId = text('decision_id', body.decision_id);
    if (!this.decisions.has(decisionId)) throw new BadRequest('there is no such decision, or no more', 404);
    return decisionId;
  }
}

function whole(field, value, low, high) {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new BadRequest(`${field} is ${value}, must be a whole number in [${low}, ${high}]`);
  }
  return value;
}

function text(field, value) {
  if (typeof value !== 'string') throw new BadRequest(`${field} is ${value}, must be a text`);
  if (value.length > mostTextLength) {
    throw new BadRequest(`${field} has ${value.length} characters, must be at most ${mostTextLength}`);
  }
  return value;
}
