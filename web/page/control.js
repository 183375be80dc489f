// Changes of what serves: requests as pure functions, and the dialogs that ask
// before one is sent.
import {el, patch} from './dom.js';
import {places, toCount} from './format.js';
import {rollbackTarget, shares, versionName} from './judge.js';
import {call} from './session.js';
import {facts} from './tables.js';

const whole = 10000;  // Places of traffic.

// Returns the ChangeServingRequest as JSON: `change` is like {pin: {version:
// "3"}}. It is refused if somebody else has changed something since `model` was
// read.
export function changeRequest(model, reason, change) {
  return {model: model.name, reason, expected_change: String(model.serving?.change ?? 0), ...change};
}

// Returns the change that gives each version its places; the rest is for the
// version that serves.
export function splitChange(parts) {
  const arms = [...parts].filter(([, each]) => each > 0)
      .map(([version, each]) => ({version: String(version), parts: each}));
  return {set_split: {arms}};
}

// Returns the places of a percentage as it was typed, or NaN where that is not a
// number in [0, 100] with at most two decimals.
export function parsePlaces(text) {
  if (text.trim() === '') return 0;
  const parts = Number(text) * 100;
  const rounded = Math.round(parts);
  return parts >= 0 && parts <= whole && Math.abs(parts - rounded) < 1e-6 ? rounded : NaN;
}

// The version that serves, with how it came to.
function servesNow(model) {
  const pinned = toCount(model.serving?.pinned_version) > 0;
  return `${versionName(model.version)} (${pinned ? 'pinned' : 'the newest'})`;
}

function newest(model) {
  return Math.max(0, ...(model.versions ?? []).filter(({error}) => !error)
      .map(({version}) => toCount(version)));
}

function splitText(model) {
  const arms = [...shares(model.serving)];
  return arms.length === 0 ? 'none' :
    arms.map(([version, parts]) => `${places(parts)} to ${versionName(version)}`).join(', ');
}

// What a change is for people: its title, the verb of its button, and what is
// before and after.
export function pinPlan(model, version) {
  return {
    title: `Pin ${versionName(version)} of ${model.name}?`, verb: `Pin ${versionName(version)}`,
    before: [['Serves now', servesNow(model)]],
    after: [['Will serve', `${versionName(version)} (pinned: newer versions wait)`],
      ['Split', `${splitText(model)}, as before`]],
    change: {pin: {version: String(version)}},
  };
}

export function unpinPlan(model) {
  return {
    title: `Unpin ${model.name}?`, verb: 'Unpin', before: [['Serves now', servesNow(model)]],
    after: [['Will serve', `${versionName(newest(model))} (the newest that loads; newer ones ` +
        'follow by themselves)']],
    change: {unpin: {}},
  };
}

export function rollbackPlan(model) {
  const target = rollbackTarget(model);
  const now = toCount(model.version);
  return {
    title: `Roll back ${model.name}?`, verb: `Roll back to ${versionName(target)}`,
    before: [['Serves now', servesNow(model)], ['Split', splitText(model)]],
    after: [['Will serve', `${versionName(target)}${target === now ? ' alone' : ''} (pinned)`],
      ['Split', 'none: a rollback ends it'],
      model.serving?.interleave && ['Interleaving', 'none: a rollback ends it']].filter(Boolean),
    change: {rollback: {version: String(target)}},
  };
}

// Opens the dialog of one plan. `done` gets the server's answer.
export function confirmChange(model, plan, done) {
  openDialog(model, plan.title, plan.verb, {
    body: () => changes(plan.before, plan.after), change: () => plan.change, done,
  });
}

// Opens the dialog of a split: a share for every version beside the one that
// serves.
export function editSplit(model, done) {
  const now = toCount(model.version);
  const before = shares(model.serving);
  const typed = new Map([...before].map(([version, parts]) => [version, String(parts / 100)]));
  const versions = [...new Set([...before.keys(), ...(model.versions ?? [])
      .filter(({error}) => !error).map(({version}) => toCount(version))])]
      .filter((version) => version !== now).sort((a, b) => b - a);
  const parts = () => new Map([...typed].map(([version, text]) => [version, parsePlaces(text)]));
  const sum = (map) => [...map.values()].reduce((total, each) => total + each, 0);
  openDialog(model, `Split traffic of ${model.name}`, 'Split traffic', {
    done,
    change: () => splitChange(parts()),
    problem: () => {
      const total = sum(parts());
      return Number.isNaN(total) ? 'Each share must be in [0, 100] with at most two decimals.' :
        total > whole ? `The shares add up to ${places(total)}, must be at most 100 %.` : '';
    },
    body: (refresh) => {
      const total = sum(parts());
      const rows = versions.map((version) => el('label', {class: 'share', key: version},
          el('span', {}, versionName(version),
              el('span', {class: 'note'}, `, now ${places(before.get(version) ?? 0)}`)),
          el('input', {type: 'number', min: 0, max: 100, step: 0.01, value: typed.get(version) ?? '0',
            'aria-describedby': 'split-rest',
            on: {input: (event) => {
              typed.set(version, event.target.validity.badInput ? 'x' : event.target.value);
              refresh();
            }}}),
          '%'));
      return [el('fieldset', {}, el('legend', {}, 'Share of traffic'), rows),
        el('p', {id: 'split-rest'}, `${versionName(now)}, which serves the rest: from ` +
          `${places(whole - sum(before))} to ` +
          `${total <= whole ? places(whole - total) : 'less than nothing'}.`)];
    },
  });
}

function changes(before, after) {
  return el('div', {class: 'changes'},
      el('div', {}, el('h3', {}, 'Now'), facts(before)),
      el('div', {}, el('h3', {}, 'After'), facts(after)));
}

// `parts`: body(refresh), change(), problem() and done(answer). The element
// dialog keeps the focus inside, closes by Escape, and gives the focus back.
function openDialog(model, title, verb, {body, change, problem = () => '', done}) {
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  let error = '';
  let isSending = false;
  const submit = async (event) => {
    event.preventDefault();
    if (isSending || problem()) return;
    const reason = dialog.querySelector('[name=reason]').value.trim();
    isSending = true;
    error = '';
    refresh();
    try {
      const answer = await call('v1/models/change', changeRequest(model, reason, change()));
      dialog.close();
      done(answer);
    } catch (thrown) {
      error = thrown.message;
    }
    isSending = false;
    refresh();
  };
  const refresh = () => patch(dialog, el('form', {on: {submit}},
      el('h2', {id: 'dialog-title'}, title),
      el('div', {class: 'dialog-body'}, body(refresh)),
      el('label', {class: 'reason'}, 'Reason, which is kept with the change',
          el('input', {name: 'reason', required: true, maxlength: 250, autofocus: true,
            autocomplete: 'off'})),
      el('p', {class: 'problem', role: 'alert'}, problem() || error),
      el('div', {class: 'buttons'},
          el('button', {type: 'button', on: {click: () => dialog.close()}}, 'Cancel'),
          el('button', {type: 'submit', class: 'main', disabled: isSending || Boolean(problem())},
              isSending ? 'Sending …' : verb))));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  refresh();
  dialog.showModal();
}
