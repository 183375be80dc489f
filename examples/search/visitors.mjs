// Simulated visitors: a person cannot click ten thousand times.
import {newDecisionId, rankRequest} from './sortition.mjs';

export const mostPerSecond = 500;
const mostAtOnce = 32;      // Visitors who wait for answers.
const tickMs = 20;
const numUnits = 100000;    // Some of them come back.
const numRemembered = 500;  // Last visitors of a version, of whom a share is shown.

// What a visitor does with sentences of these labels, by rank: reads from the
// top, clicks a right answer with probability 0.9 and a wrong one with 0.05, and
// leaves then; after a sentence that was not clicked, reads on with probability
// 0.7. That is the dynamic Bayesian network of core/clicks/click_model.h, with
// satisfaction 1 and perseverance 0.7.
// Returns {seen, clicked}: how many ranks were read; the rank of the click, or -1.
export function readFromTop(labels, random = Math.random) {
  for (let rank = 0; rank < labels.length; ++rank) {
    if (random() < (labels[rank] > 0 ? 0.9 : 0.05)) return {seen: rank + 1, clicked: rank};
    if (random() >= 0.7) return {seen: rank + 1, clicked: -1};
  }
  return {seen: labels.length, clicked: -1};
}

// Visitors at a rate. They ask and report as the page does.
export class Visitors {
  rate = 0;      // Wanted, per second.
  running = 0;   // Who wait for answers now.
  count = 0;     // Since the start.
  failed = 0;
  trouble = '';  // Of the last call, if it failed.
  versions = new Map();  // From a version to its last visitors: 1 clicked, 0 did not.

  constructor(sortition, questions, topK, random = Math.random) {
    this.sortition = sortition;
    this.questions = questions;
    this.topK = topK;
    this.random = random;
  }

  // `rate` in [0, mostPerSecond].
  setRate(rate) {
    if (!Number.isFinite(rate) || rate < 0 || rate > mostPerSecond) {
      throw new RangeError(`rate is ${rate}, must be in [0, ${mostPerSecond}]`);
    }
    this.rate = rate;
    if (rate === 0) return this.stop();
    this.last ??= performance.now();
    this.due ??= 0;
    this.timer ??= setInterval(() => this.tick(performance.now()), tickMs);
  }

  stop() {
    this.rate = 0;
    clearInterval(this.timer);
    this.timer = this.last = this.due = undefined;
  }

  // Lets those come who are due. Who cannot come at once stays away: a slow
  // server gets no crowd later.
  tick(now) {
    this.due += (now - this.last) / 1000 * this.rate;
    this.last = now;
    while (this.due >= 1) {
      if (this.running < mostAtOnce) this.visit();
      this.due -= 1;
    }
  }

  // One visit. Never throws.
  async visit() {
    ++this.running;
    try {
      await this.ask();
      this.trouble = '';
    } catch (error) {
      ++this.failed;
      this.trouble = error.message;
    } finally {
      --this.running;
    }
  }

  async ask() {
    const {question, sentences, labels} = this.questions[this.below(this.questions.length)];
    const decisionId = newDecisionId();
    const answer = await this.sortition.rank(rankRequest({decisionId, question, sentences, topK: this.topK,
      unit: `simulated-${this.below(numUnits)}`, visitor: 'simulated'}));
    const {seen, clicked} = readFromTop(answer.order.map((index) => labels[index]), this.random);
    await this.sortition.shown({decision_id: decisionId, seen_ranks: seen});
    if (clicked >= 0) await this.sortition.feedback({feedback: [clickOf(decisionId, clicked)]});
    ++this.count;
    this.remember(answer.result.model.version, clicked >= 0 ? 1 : 0);
  }

  below(number) {
    return Math.floor(this.random() * number);
  }

  remember(version, found) {
    if (!this.versions.has(version)) this.versions.set(version, []);
    const last = this.versions.get(version);
    last.push(found);
    if (last.length > numRemembered) last.shift();
  }

  // What the page shows.
  state() {
    const versions = [...this.versions].map(([version, last]) => ({version, visitors: last.length,
      share: last.reduce((sum, found) => sum + found, 0) / last.length}));
    return {rate: this.rate, most: mostPerSecond, count: this.count, failed: this.failed,
      trouble: this.trouble, versions};
  }
}

// Returns the feedback for a click. Its id makes a repetition harmless.
export function clickOf(decisionId, rank) {
  return {feedback_id: `${decisionId}-click-${rank}`, decision_id: decisionId, reward: 1, rank};
}
