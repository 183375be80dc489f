// The bearer token of somebody who is signed in, and calls in that name. The
// token is kept for this tab, sent in a header, never part of an address.
import {el, patch} from './dom.js';
import {keep, stored} from './storage.js';

const name = 'token';

let kept = stored('sessionStorage', name);

export function isSignedIn() {
  return kept !== '';
}

export function signOut() {
  setToken('');
}

function setToken(token) {
  kept = token;
  keep('sessionStorage', name, token);
}

// Returns the headers that say who asks.
export function authorization(token = kept) {
  return token ? {authorization: `Bearer ${token}`} : {};
}

// Returns what the server says of an answer that is no success.
export function problemOf(code, text) {
  try {
    const {message, error} = JSON.parse(text);
    return message ?? error?.message ?? error ?? text;
  } catch {
    return text.trim() || `The server answered with code ${code} and says no more.`;
  }
}

// Returns the answer to a call, or throws an error with the server's words and
// the `code` of HTTP. Who has a token that is not known is signed out.
export async function call(path, request, headers = authorization()) {
  const answer = await fetch(path, {method: 'POST', body: JSON.stringify(request),
    headers: {'content-type': 'application/json', ...headers}});
  const text = await answer.text();
  if (answer.ok) return JSON.parse(text);
  if (answer.status === 401) signOut();
  throw Object.assign(new Error(problemOf(answer.status, text)), {code: answer.status});
}

// What a port says that has no calls to try a token with: a sidecar's, or one
// whose control port is another.
const withoutCall = [404, 405, 501];

// Throws unless the server takes the token as that of an admin. Listing models
// needs that role and changes nothing.
async function check(token) {
  try {
    await call('v1/models/list', {}, authorization(token));
  } catch (error) {
    if (!withoutCall.includes(error.code)) throw error;
  }
}

// Opens the dialog that takes a token, and checks it. `done` is called once it is
// good.
export function signIn(done) {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  let problem = '';
  let isChecking = false;
  const submit = async (event) => {
    event.preventDefault();
    if (isChecking) return;
    const token = dialog.querySelector('input').value.trim();
    isChecking = true;
    problem = '';
    refresh();
    try {
      await check(token);
      if (dialog.open) {
        setToken(token);
        dialog.close();
        done();
      }
    } catch (error) {
      problem = `This token cannot be used: ${error.message}`;
    }
    isChecking = false;
    refresh();
  };
  const refresh = () => patch(dialog, el('form', {on: {submit}},
      el('h2', {id: 'dialog-title'}, 'Sign in'),
      el('p', {}, 'Changes of what serves need the token of an admin. It stays in this tab until ' +
          'the tab is closed.'),
      el('label', {}, 'Token', el('input', {type: 'password', required: true, autofocus: true,
        autocomplete: 'off', pattern: '[!-~ ]+', title: 'Printable ASCII characters'})),
      el('p', {class: 'problem', role: 'alert'}, problem),
      el('div', {class: 'buttons'},
          el('button', {type: 'button', on: {click: () => dialog.close()}}, 'Cancel'),
          el('button', {type: 'submit', class: 'main', disabled: isChecking},
              isChecking ? 'Checking …' : 'Sign in'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  refresh();
  dialog.showModal();
}
