// Asks for /status.json every two seconds and shows what it says.
import {el, patch} from './dom.js';
import {absolute, ago, duration, toNumber} from './format.js';
import {firstSteps} from './first_steps.js';
import {importantChanges, versionName} from './judge.js';
import {modelSection} from './models.js';
import {overview, values} from './overview.js';
import {callSection, logSection, processSection, warningSection} from './service.js';
import {authorization, isSignedIn, signIn, signOut} from './session.js';
import {keep} from './storage.js';

const pauseMs = 2000;
const patienceMs = 10000;
const pollsPerHistory = 3;  // The last hour is much to send; it grows every few seconds.

let status = null;
let history = null;
let receivedMs = 0;   // When `status` came, by the clock of the page.
let failure = null;   // {sinceMs, text, code} while there is no answer.
let polls = 0;
let timer = 0;

async function poll() {
  clearTimeout(timer);
  const isWhole = polls % pollsPerHistory === 0;
  try {
    const answer = await fetch(isWhole ? 'status.json' : 'status.json?history=0',
        {signal: AbortSignal.timeout(patienceMs), cache: 'no-store', headers: authorization()});
    if (!answer.ok) {
      throw Object.assign(new Error(`the answer has code ${answer.status}`), {code: answer.status});
    }
    const next = await answer.json();
    if (isWhole) history = next.history;
    receive({...next, history});
    ++polls;
    render();
  } catch (error) {
    fail(error);
    renderTrouble();
  } finally {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(poll, pauseMs);
  }
}

function receive(next) {
  const news = status ? importantChanges(status, next) : [];
  if (failure) news.unshift('The server answers again.');
  failure = null;
  status = next;
  receivedMs = performance.now();
  if (news.length > 0) announce(news.join(' '));
}

function fail(error) {
  const text = error.name === 'TimeoutError' ? `nothing came within ${patienceMs / 1000} seconds` :
    error.message;
  if (!failure) announce('No answer from the server.');
  failure = {sinceMs: failure?.sinceMs ?? performance.now(), text, code: error.code};
}

// Says it to screen readers; it stands on the page in full anyway.
function announce(text) {
  document.getElementById('news').textContent = text;
}

function nowUs() {
  return toNumber(status.process.now_us) + (performance.now() - receivedMs) * 1000;
}

function changed(answer) {
  const {serving, version} = answer;
  announce(`Done, as change ${serving?.change}: ${versionName(version)} serves.`);
  polls = 0;
  poll();
}

// The rest of the page stays as it was.
function renderTrouble() {
  patch(document.getElementById('session'), sessionButton());
  patch(document.getElementById('trouble'), trouble());
}

function render() {
  renderTrouble();
  if (!status) return;
  const {process, server} = status;
  document.title = `${server?.ready === false ? 'Not ready · ' : ''}Sortition ${process.role}`;
  patch(document.getElementById('about'), `${process.role} ${process.version} · up `,
      el('time', {datetime: new Date(toNumber(process.start_time_us) / 1000).toISOString(),
        title: `since ${absolute(toNumber(process.start_time_us))}`},
      duration((nowUs() - toNumber(process.start_time_us)) / 1e6)));
  const canChange = Boolean(server?.has_control) && (!server.needs_token || isSignedIn());
  const page = {nowUs: nowUs(), refresh: render, canChange, changed};
  const sections = [
    overview(status), firstSteps(status), values(status, render), server && modelSection(status, page),
    server && callSection(status, render), logSection(status, page), warningSection(status, page.nowUs),
    processSection(status, page.nowUs),
  ].filter(Boolean);
  patch(document.getElementById('page'), sections);
  patch(document.getElementById('places'), sections.map(({attributes: {id}, children: [heading]}) =>
    el('li', {key: id}, el('a', {href: `#${id}`}, heading.children))));
}

function sessionButton() {
  const isNeeded = status?.server?.needs_token && status.server.has_control;
  if (!isNeeded && failure?.code !== 401) return null;
  const again = () => {
    render();
    poll();
  };
  return isSignedIn() ?
    el('button', {type: 'button', key: 'out', on: {click: () => { signOut(); again(); }}}, 'Sign out') :
    el('button', {type: 'button', key: 'in', on: {click: () => signIn(again)}}, 'Sign in');
}

function trouble() {
  if (!failure) return null;
  const since = performance.now() - failure.sinceMs;
  const wall = (Date.now() - since) * 1000;
  return el('p', {class: 'problem'}, 'No answer; the last one came ', el('time', {title: absolute(wall)},
      ago(wall, Date.now() * 1000)), `: ${failure.text.replace(/\.$/, '')}.`,
  status && ' What follows is what was known then.');
}

const theme = document.getElementById('theme');
theme.value = document.documentElement.dataset.theme ?? '';
theme.onchange = () => {
  if (theme.value) {
    document.documentElement.dataset.theme = theme.value;
  } else {
    delete document.documentElement.dataset.theme;
  }
  keep('localStorage', 'theme', theme.value);
};

document.addEventListener('visibilitychange', () => {
  clearTimeout(timer);
  if (!document.hidden) {
    polls = 0;
    poll();
  }
});
poll();
