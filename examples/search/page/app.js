// The search page. It asks its own server only, which asks Sortition.

const byId = (id) => document.getElementById(id);
const shortTime = new Intl.DateTimeFormat(undefined, {timeStyle: 'medium'});
const seenAfterMs = 500;  // So long a result must be in view to be seen.
const reportAfterMs = 100;
const mostLines = 20;     // Of the log.

let decision = null;  // Of the results that are shown.

// Makes an element. What others wrote becomes text, never HTML.
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') node.onclick = value;
    else if (value === true) node.setAttribute(name, '');
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

async function read(response) {
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

// `keepalive`: reports arrive although the page is left at once.
async function post(path, body) {
  return read(await fetch(path, {method: 'POST', headers: {'content-type': 'application/json'},
    body: JSON.stringify(body), keepalive: true}));
}

function say(message, isProblem = false) {
  byId('news').textContent = message;
  byId('news').classList.toggle('problem', isProblem);
}

// Runs `action` and says what went wrong.
async function attempt(action) {
  try {
    await action();
  } catch (error) {
    say(error.message, true);
  }
}

// Somebody for as long as the tab is open: Sortition keeps decisions of one unit
// together.
function unit() {
  let name = sessionStorage.getItem('unit');
  if (!name) {
    name = `person-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`;
    sessionStorage.setItem('unit', name);
  }
  return name;
}

async function search() {
  const answer = await post('/api/search', {question: byId('question').value, unit: unit()});
  forgetDecision();
  decision = {id: answer.decision_id, seen: 0, said: 0, timers: new Map()};
  byId('results').replaceChildren(...answer.results.map(resultItem));
  for (const id of ['up', 'down']) {
    byId(id).disabled = false;
    byId(id).removeAttribute('aria-pressed');
  }
  byId('found').hidden = false;
  say(`${answer.results.length} sentences for “${answer.question}”`);
  showDecision(answer);
  log('Decision', 'drawn, and logged before it was answered', answer.call);
  observeResults();
}

function resultItem({sentence, probability}, rank) {
  const button = element('button', {type: 'button', 'aria-pressed': 'false', onclick: () =>
    attempt(() => click(button, rank))}, sentence);
  return element('li', {'data-rank': rank}, element('span', {class: 'rank'}, String(rank + 1)), button,
      element('span', {class: 'chance'}, `drawn with probability ${percent(probability)}` +
          (rank > 0 ? ' among those left' : '')));
}

function percent(share) {
  return `${(100 * share).toLocaleString(undefined, {maximumSignificantDigits: 3})} %`;
}

function showDecision({decision_id: id, version, log_propensity: logPropensity}) {
  const oneIn = Math.exp(-logPropensity).toLocaleString(undefined, {maximumSignificantDigits: 4});
  const facts = {'Decision id': id, 'Model version': version === '0' ? '0: none yet, all orders are equally likely' :
                                                                       version,
    'Propensity': `${Math.exp(logPropensity).toPrecision(4)}: this order was drawn in one of ${oneIn} cases`};
  byId('decision').replaceChildren(...Object.entries(facts).flatMap(([name, value]) =>
    [element('dt', {}, name), element('dd', {}, value)]));
}

async function click(button, rank) {
  button.setAttribute('aria-pressed', 'true');
  const {call} = await post('/api/click', {decision_id: decision.id, rank});
  log('Feedback', `reward 1 at rank ${rank + 1}`, call);
}

async function thumb(up) {
  byId('up').disabled = byId('down').disabled = true;
  byId(up ? 'up' : 'down').setAttribute('aria-pressed', 'true');
  const {call} = await post('/api/thumb', {decision_id: decision.id, up});
  log('Feedback', `${up ? 'reward' : 'loss'} 1 for the whole page`, call);
}

// Notes which results are really in view: a result counts with half of it there
// for a while, and with it those above.
const observer = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) {
    const rank = Number(target.dataset.rank);
    clearTimeout(decision.timers.get(rank));
    if (!isIntersecting || rank < decision.seen) continue;
    decision.timers.set(rank, setTimeout(() => noteSeen(rank), seenAfterMs));
  }
}, {threshold: 0.5});

function observeResults() {
  for (const item of byId('results').children) observer.observe(item);
}

function noteSeen(rank) {
  if (document.hidden) return;
  decision.seen = Math.max(decision.seen, rank + 1);
  // One report for all that were seen at about the same time.
  clearTimeout(decision.timers.get('report'));
  decision.timers.set('report', setTimeout(() => attempt(reportSeen), reportAfterMs));
}

async function reportSeen() {
  if (decision.seen <= decision.said) return;
  decision.said = decision.seen;
  const {call} = await post('/api/seen', {decision_id: decision.id, seen_ranks: decision.seen});
  log('Shown', `${decision.said} ranks were in view`, call);
}

// The results make way for others.
function forgetDecision() {
  observer.disconnect();
  for (const timer of decision?.timers.values() ?? []) clearTimeout(timer);
}

function log(what, text, call) {
  byId('nothing').hidden = true;
  byId('log').prepend(element('li', {}, element('strong', {}, what), ` ${text} `,
      element('time', {}, shortTime.format(new Date())),
      element('details', {}, element('summary', {}, `POST ${call.path}`),
          element('pre', {tabindex: '0', role: 'group', 'aria-label': `request and answer of ${call.path}`},
              `${JSON.stringify(call.request, null, 1)}\n→ ${JSON.stringify(call.answer, null, 1)}`))));
  while (byId('log').children.length > mostLines) byId('log').lastChild.remove();
}

async function suggest() {
  const words = byId('question').value.trim();
  if (!words) return;
  const {questions} = await read(await fetch(`/api/questions?words=${encodeURIComponent(words)}`));
  byId('suggestions').replaceChildren(...questions.map((question) => element('option', {value: question})));
}

async function searchAnother() {
  const {questions} = await read(await fetch('/api/questions'));
  byId('question').value = questions[0];
  await search();
}

function showVisitors(visitors) {
  byId('visitors').hidden = visitors === null;
  if (visitors === null) return;
  if (document.activeElement !== byId('rate')) {
    byId('rate').max = visitors.most;
    byId('rate').value = visitors.rate;
    byId('wanted').textContent = visitors.rate;
  }
  byId('crowd').textContent = `${visitors.count.toLocaleString()} came` +
      (visitors.failed ? `, ${visitors.failed.toLocaleString()} got no answer. ${visitors.trouble}` : '');
  byId('versions').replaceChildren(...visitors.versions.map(({version, share}) =>
    element('tr', {}, element('th', {scope: 'row'}, version === '0' ? '0: at random' : version),
        element('td', {class: 'number'}, percent(share)))));
}

async function look() {
  if (document.hidden) return;
  try {
    const state = await read(await fetch('/api/state'));
    byId('status').href = state.status;
    showVisitors(state.visitors);
  } catch (error) {
    byId('crowd').textContent = `no news: ${error.message}`;
  }
}

byId('search').onsubmit = (event) => {
  event.preventDefault();
  attempt(search);
};
byId('another').onclick = () => attempt(searchAnother);
byId('up').onclick = () => attempt(() => thumb(true));
byId('down').onclick = () => attempt(() => thumb(false));
byId('question').oninput = () => attempt(suggest);
byId('rate').oninput = () => { byId('wanted').textContent = byId('rate').value; };
byId('rate').onchange = () => attempt(async () =>
  showVisitors(await post('/api/visitors', {rate: Number(byId('rate').value)})));
// What was in view while nobody could see it counts from now on.
document.onvisibilitychange = () => {
  observer.disconnect();
  if (!document.hidden) observeResults();
};
setInterval(look, 2000);
look();
