// What somebody sees who has just started a server: the next thing to type.
import {el} from './dom.js';
import {stepsDone} from './judge.js';
import {mark, section} from './tables.js';

// Returns the lines of a first call, a first report and a first training. Three
// candidates of two features each are enough; a second call draws anew.
export function commands(origin, {needs_token: needsToken, spool}, tupleDir) {
  const call = (path, body) => `curl -s ${origin}${path} \\\n` +
      (needsToken ? `  -H 'authorization: Bearer TOKEN' \\\n` : '') +
      `  -H 'content-type: application/json' \\\n  -d '${body}'`;
  return {
    ask: call('/v1/rank', '{"context": {"decision_id": "first", "baseline": {}, "candidates": {\n' +
        '        "num_features": 2, "dense": {"values": [0.9, 0.1,  0.2, 0.7,  0.4, 0.4]}}}, ' +
        '"top_k": 2}'),
    report: call('/v1/feedback', '{"feedback": [{"feedback_id": "first-click", ' +
        '"decision_id": "first", "reward": 1}]}'),
    join: `sortition-sidecar --spool=${spool?.dir || 'SPOOL'} --tuples=TUPLES ` +
        '--reward_wait_time_seconds=60',
    train: `sortition-trainer train --tuples=${tupleDir || 'TUPLES'} --model_store=STORE`,
  };
}

const texts = {
  ask: ['Ask for an answer', 'Three candidates with two features each, in the order that you have today: ' +
      'the empty baseline says so. Without a model most answers keep this order, and the others are drawn at ' +
      'random. The exact probability of each is logged.'],
  report: ['Report what came of it', 'The reward of the decision with that id; higher is better.'],
  join: ['Join the two', 'A sidecar reads the log and writes tuples to learn from, here one minute after ' +
      'each decision. Where the server has the option ' +
      'http.sidecar=127.0.0.1:8504, this page shows its figures.'],
  train: ['Learn from the log', 'Some thousands of decisions with feedback make a first model. Once ' +
      'it is published, the server takes it by itself and this page shows what it is worth.'],
};

// Returns the section, or null once a model is there.
export function firstSteps(status) {
  const done = stepsDone(status);
  if (!done) return null;
  const steps = Object.keys(done);
  const next = steps.find((step) => !done[step]);
  const lines = commands(new URL('.', location).href.replace(/\/$/, ''), status.server, status.sidecar?.tuple_dir);
  return section('first', 'First steps', el('ol', {class: 'steps'}, steps.map((step) => {
    const isDone = done[step];
    return el('li', {key: step, class: isDone ? 'done' : step === next ? 'next' : 'later',
      'aria-current': step === next ? 'step' : false},
    el('h3', {}, isDone && mark('good'), texts[step][0],
        isDone && el('span', {class: 'unseen'}, ' (done)')),
    el('p', {}, texts[step][1]),
    el('pre', {tabindex: 0, role: 'region', 'aria-label': `Command: ${texts[step][0]}`},
        el('code', {}, lines[step])),
    navigator.clipboard && el('button', {type: 'button', class: 'small',
      on: {click: (event) => copy(event.currentTarget, lines[step])}}, 'Copy',
    el('span', {class: 'unseen'}, ` the command: ${texts[step][0]}`)));
  })));
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.firstChild.data = 'Copied';
}
