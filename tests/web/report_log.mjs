// A log of a search page, made up, and a policy to judge by it. The same in every
// run.

const numFeatures = 5;
const numUsers = 1500;
const firstDayMs = Date.UTC(2026, 1, 2);
const dayMs = 86400e3;
const numDays = 14;
const countries = ['CH', 'DE', 'FR', 'IT'];

// Numbers in [0, 1): mulberry32, public domain, by Tommy Ettinger.
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Two decimals are written as they are meant, on every machine.
const rounded = (value) => Math.round(value * 100) / 100;

// What a user likes. On phones, short answers too.
function liking([match, freshness, length, source], device) {
  return 2.2 * match + 0.7 * freshness + 1.8 * source - (device === 'phone' ? 1.2 * length : 0);
}

// The logging policy knows the first feature only, and explores.
const loggingScore = ([match]) => 1.5 * match;
// The new one knows more, but not of phones.
const newScore = (features) => 2 * liking(features, 'any');

function softmax(scores) {
  const weights = scores.map(Math.exp);
  const sum = weights.reduce((total, each) => total + each, 0);
  return weights.map((each) => each / sum);
}

function draw(probabilities, number) {
  let sum = 0;
  const found = probabilities.findIndex((each) => (sum += each) > number);
  return found < 0 ? probabilities.length - 1 : found;
}

// Returns {log, policy}: what `sortition log import --format=dsjson` reads, and
// what `sortition-trainer ope --policies=NAME=FILE.jsonl` does.
export function searchLog(numDecisions, seed) {
  const random = randomNumbers(seed);
  const lines = {log: '', policy: ''};
  for (let i = 0; i < numDecisions; ++i) {
    const id = `search-${i}`;
    const user = Math.floor(numUsers * random() ** 2);
    const device = user % 3 === 0 ? 'phone' : 'desktop';
    const candidates = Array.from({length: 3 + Math.floor(3 * random())}, () =>
      Array.from({length: numFeatures}, () => rounded(random())));
    const probabilities = softmax(candidates.map(loggingScore));
    const chosen = draw(probabilities, random());
    const isClicked = random() < 1 / (1 + Math.exp(2.6 - liking(candidates[chosen], device)));
    lines.log += JSON.stringify({
      EventId: id, Timestamp: new Date(firstDayMs + Math.floor(i / numDecisions * numDays * dayMs)).toISOString(),
      _label_cost: isClicked ? -1 : 0, _label_probability: probabilities[chosen],
      _label_Action: chosen + 1, _labelIndex: chosen, o: isClicked ? [{EventId: id, v: 1}] : [],
      _unit_id: `user-${user}`, _attributes: {device, country: countries[user % countries.length]},
      _num_features: numFeatures, c: {_multi: candidates.map((f) => ({f}))},
    }) + '\n';
    lines.policy += JSON.stringify({decision_id: id, probabilities: softmax(candidates.map(newScore))}) + '\n';
  }
  return lines;
}
