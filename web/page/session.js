// The bearer token of somebody who is signed in: kept for this tab, sent in a
// header, never part of an address.
import {el, patch} from './dom.js';

const name = 'token';

function token() {
  return sessionStorage.getItem(name) ?? '';
}

export function isSignedIn() {
  return token() !== '';
}

export function signOut() {
  sessionStorage.removeItem(name);
}

// Returns the headers that say who asks.
export function authorization() {
  return isSignedIn() ? {authorization: `Bearer ${token()}`} : {};
}

// Opens the dialog that takes a token. `done` is called once there is one.
export function signIn(done) {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  const submit = (event) => {
    event.preventDefault();
    sessionStorage.setItem(name, dialog.querySelector('input').value.trim());
    dialog.close();
    done();
  };
  patch(dialog, el('form', {on: {submit}},
      el('h2', {id: 'dialog-title'}, 'Sign in'),
      el('p', {}, 'Changes of what serves need the token of an admin. It stays in this tab until ' +
          'the tab is closed, and is checked with the first change.'),
      el('label', {}, 'Token', el('input', {type: 'password', required: true, autofocus: true,
        autocomplete: 'off', pattern: '[!-~ ]+', title: 'Printable ASCII characters'})),
      el('div', {class: 'buttons'},
          el('button', {type: 'button', on: {click: () => dialog.close()}}, 'Cancel'),
          el('button', {type: 'submit', class: 'main'}, 'Sign in'))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
