// The page in a browser, against a server that says what the test wants. Without
// SORTITION_LONG only the most important of it.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {FakeServer} from './fake_server.mjs';
import * as checks from './page_checks.mjs';
import * as statuses from './statuses.mjs';

const long = {skip: process.env.SORTITION_LONG !== '1' && 'takes long: ./dev test --long'};

let browser;
let fake;

before(async () => {
  browser = await checks.launch();
  fake = await FakeServer.start();
});
after(async () => {
  await browser?.close();
  await fake?.stop();
});

// Opens the page of a status; the last page is closed.
let last = null;
async function show(status, view, options) {
  await last?.context().close();
  Object.assign(fake, {status, asked: [], changes: [], listed: [], isSilent: false,
    answer: {code: 200, body: {}}, listAnswer: {code: 200, body: {}}});
  last = await checks.open(browser, fake.url, view, options);
  return last;
}

const shown = {
  fresh: [statuses.fresh, 0], first_decision: [statuses.firstDecision, 0], busy: [statuses.busy, 10],
  failed_log: [statuses.failedLog, 10], hostile: [statuses.hostile, 10], twenty_models: [statuses.twentyModels, 10],
  sidecar: [statuses.ofSidecar, 4],
};
for (const [name, [make, numCharts]] of Object.entries(shown)) {
  // All views of what most people see; of the rest, each width and each colours.
  const views = ['fresh', 'busy'].includes(name) ? checks.views : [checks.views[0], checks.views[3]];
  for (const view of views) {
    const isShort = ['fresh', 'busy', 'hostile'].includes(name) && view === views.at(-1);
    test(`${name} at ${view.name} is quiet, accessible, drawn, and fits`, isShort ? {} : long, async () => {
      const page = await show(make(), view);
      await checks.fitsItsWidth(page);
      await checks.hasCharts(page, numCharts);
      await checks.isAccessible(page);
      await checks.picture(page, `${name}_${view.name}`);
      checks.isQuiet(page);
    });
  }
}

test('the page fits windows of every width', long, async () => {
  const page = await show(statuses.busy());
  for (const width of [320, 480, 640, 720, 800, 864, 880, 960, 1100, 1216, 1300, 1920]) {
    await page.setViewportSize({width, height: 900});
    await checks.fitsItsWidth(page);
  }
});

test('what the status leaves out is told', long, async () => {
  const status = statuses.twentyModels();
  status.server.models[0].further_versions = '1';
  const page = await show(status);
  await page.getByText('Further models: 37.').waitFor();
  await page.getByText('Further versions: 1.').waitFor();
});

test('hostile texts stay texts', long, async () => {
  const page = await show(statuses.hostile());
  assert.match(await page.title(), /^Sortition/);
  assert.equal(await page.locator('main img, main script').count(), 0);
  assert.ok(await page.getByText('<img src=x onerror=').count() > 5);
});

test('numbers move when the status moves, and nothing else is lost', long, async () => {
  const status = statuses.busy();
  const page = await show(() => status);
  const focused = page.getByRole('button', {name: 'Split … answers'});
  await focused.focus();
  await page.getByText('Changes of what serves').click();
  await focused.focus();
  await page.getByText('3,864,020 records').first().waitFor();
  status.server.spool.records = '3864999';
  await page.getByText('3,864,999 records').first().waitFor();
  assert.ok(await focused.evaluate((node) => node === document.activeElement), 'focus');
  await page.getByText('version 5 lost clicks on phones').waitFor();
});

test('charts follow the history', long, async () => {
  const status = statuses.busy();
  const page = await show(() => status);
  const line = page.locator('.chart .plot path.line').first();
  const was = await line.getAttribute('d');
  for (const series of status.history.series) series.values[719] = 0.3;
  await page.waitForFunction(([before]) =>
    document.querySelector('.chart .plot path.line').getAttribute('d') !== before, [was]);
  // The whole hour is asked for only now and then.
  const polls = fake.asked.filter((path) => path.startsWith('/status.json'));
  assert.ok(polls.filter((path) => path.includes('history=0')).length >= polls.length / 2, `${polls}`);
});

test('a server that falls silent is told, and when it is back', long, async () => {
  const page = await show(statuses.busy());
  fake.isSilent = true;
  await page.getByText('No answer; the last one came').waitFor();
  assert.equal(await page.getByRole('status').textContent(), 'No answer from the server.');
  await page.getByText('3,864,020 records').first().waitFor();
  fake.isSilent = false;
  await page.getByText('No answer; the last one came').waitFor({state: 'detached'});
});

test('what matters is said aloud', long, async () => {
  const status = statuses.busy();
  const page = await show(() => status);
  assert.equal(await page.getByRole('status').textContent(), '');
  Object.assign(status.server, {ready: false, why_not_ready: 'it drains'});
  await page.getByRole('status').filter({hasText: 'Not ready. it drains'}).waitFor();
  assert.match(await page.title(), /^Not ready/);
});

test('a chart is read by keyboard', long, async () => {
  const page = await show(statuses.busy());
  const plot = page.getByRole('slider', {name: /Reward of answers/});
  await plot.focus();
  const latest = await plot.getAttribute('aria-valuetext');
  assert.match(latest, /version 6: 0\.\d+ \[.*version 7: 0\.\d+ \[/);
  await page.keyboard.press('Home');
  assert.equal(await plot.getAttribute('aria-valuenow'), '0');
  assert.match(await plot.getAttribute('aria-valuetext'), /version 7: –/);
  assert.ok(await plot.locator('.tip').isVisible());
  await page.keyboard.press('Escape');
  assert.ok(await plot.locator('.tip').isHidden());
  assert.equal(await plot.getAttribute('aria-valuetext'), latest);
});

test('a chart is read by pointer, and has a table', long, async () => {
  const page = await show(statuses.busy());
  const chart = page.locator('.chart', {hasText: 'Reward of answers'});
  const box = await chart.locator('.plot').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  assert.match(await chart.locator('.tip').textContent(), /^13:|^\d\d:\d\d:\d\dversion 6/);
  await chart.getByText('Table').click();
  const rows = chart.getByRole('row');
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), 61);  // One a minute, and the header.
});

test('colours are chosen by the reader and stay chosen', long, async () => {
  const page = await show(statuses.busy(), checks.views[2]);
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByLabel('Colours').selectOption('dark');
  const dark = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  await page.locator('#process').waitFor();
  assert.equal(await paper(), dark);
  await page.getByLabel('Colours').selectOption('');
  assert.equal(await paper(), light);
});

test('a rollback asks first, and sends nothing when it is cancelled', long, async () => {
  const page = await show(statuses.busy());
  const button = page.getByRole('button', {name: 'Roll back … home'});
  for (const cancel of ['Escape', 'button']) {
    await button.click();
    const dialog = page.getByRole('dialog', {name: 'Roll back home?'});
    assert.match(await dialog.textContent(), /Serves nowversion 2 .*Will serveversion 1/);
    await page.keyboard.type('a reason');
    if (cancel === 'Escape') await page.keyboard.press('Escape');
    else await dialog.getByRole('button', {name: 'Cancel'}).click();
    await dialog.waitFor({state: 'detached'});
    assert.ok(await button.evaluate((node) => node === document.activeElement), 'focus comes back');
  }
  assert.deepEqual(fake.changes, []);
});

test('a rollback sends exactly what was said, by keyboard alone', async () => {
  const page = await show(statuses.busy());
  fake.answer.body = {serving: {change: '1'}, version: '1'};
  const button = page.getByRole('button', {name: 'Roll back … home'});
  // From the start of the page, as somebody without a pointer.
  for (let i = 0; i < 100 && !(await button.evaluate((node) => node === document.activeElement)); ++i) {
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await checks.isAccessible(page);
  await checks.picture(page, 'rollback');
  await page.keyboard.press('Enter');  // No reason, no change.
  assert.deepEqual(fake.changes, []);
  await page.keyboard.type('clicks fell');
  await page.keyboard.press('Enter');
  await page.getByRole('status').filter({hasText: 'version 1 serves'}).waitFor();
  assert.deepEqual(fake.changes, [{method: 'POST', authorization: undefined, body: {
    model: 'home', reason: 'clicks fell', expected_change: '0', rollback: {version: '1'}}}]);
  assert.equal(await page.getByRole('dialog').count(), 0);
});

test('what the server refuses is shown in its words', long, async () => {
  const page = await show(statuses.busy());
  fake.answer = {code: 409, body: {code: 10, message: 'expected_change is 12: the store is at 13'}};
  await page.getByRole('button', {name: 'Pin … version 6 of answers'}).click();
  await page.keyboard.type('it was better');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({hasText: 'expected_change is 12: the store is at 13'}).waitFor();
  assert.deepEqual(fake.changes[0].body,
      {model: 'answers', reason: 'it was better', expected_change: '12', pin: {version: '6'}});
});

test('a split adds up before it is sent', long, async () => {
  const page = await show(statuses.busy());
  await page.getByRole('button', {name: 'Split … answers'}).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('version 8').fill('95');
  await dialog.getByText('must be at most 100 %').waitFor();
  assert.ok(await dialog.getByRole('button', {name: 'Split traffic'}).isDisabled());
  await dialog.getByLabel('version 8').fill('12.5');
  await dialog.getByText('from 90 % to 77.5 %').waitFor();
  await checks.isAccessible(page);
  await checks.picture(page, 'split');
  await dialog.getByLabel('Reason').fill('try 8');
  await dialog.getByRole('button', {name: 'Split traffic'}).click();
  await dialog.waitFor({state: 'detached'});
  assert.deepEqual(fake.changes[0].body, {model: 'answers', reason: 'try 8', expected_change: '12',
    set_split: {arms: [{version: '6', parts: 1000}, {version: '8', parts: 1250}]}});
});

test('where tokens are needed, one signs in; the token is in no address', long, async () => {
  const status = statuses.busy();
  status.server.needs_token = true;
  const page = await show(status);
  assert.equal(await page.getByRole('button', {name: /Roll back/}).count(), 0);
  await page.getByRole('button', {name: 'Sign in'}).click();
  await checks.isAccessible(page);
  await page.getByLabel('Token').fill('secret-token');
  await page.keyboard.press('Enter');
  await page.getByRole('button', {name: 'Roll back … home'}).click();
  await page.keyboard.type('because');
  fake.answer = {code: 401, body: {code: 16, message: 'the token has ended'}};
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({hasText: 'the token has ended'}).waitFor();
  assert.equal(fake.changes[0].authorization, 'Bearer secret-token');
  assert.ok(!fake.asked.some((path) => path.includes('secret')), `${fake.asked}`);
  await page.keyboard.press('Escape');
  await page.getByRole('button', {name: 'Sign in'}).waitFor();
});

test('a wrong token is told at once, and not kept', long, async () => {
  const status = statuses.busy();
  status.server.needs_token = true;
  const page = await show(status);
  await page.getByRole('button', {name: 'Sign in'}).click();
  const dialog = page.getByRole('dialog', {name: 'Sign in'});
  for (const [code, message] of [[401, 'the token is unknown'], [403, 'the caller is no admin'],
    [503, 'the server drains']]) {
    fake.listAnswer = {code, body: {code: 16, message}};
    await dialog.getByLabel('Token').fill(`token-${code}`);
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').filter({hasText: message}).waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  }
  await checks.isAccessible(page);
  await checks.picture(page, 'sign_in');
  fake.listAnswer = {code: 200, body: {models: []}};
  await dialog.getByLabel('Token').fill('good-token');
  await page.keyboard.press('Enter');
  await page.getByRole('button', {name: 'Sign out'}).waitFor();
  assert.deepEqual(fake.listed, ['401', '403', '503'].map((code) => `Bearer token-${code}`)
      .concat('Bearer good-token'));
  assert.deepEqual(fake.changes, []);
});

test('where orders are interleaved, the page says who tells what users prefer', long, async () => {
  const status = statuses.busy();
  const home = status.server.models[1];
  home.serving.interleave = {version: '1', parts: 1000, method: 'TEAM_DRAFT'};
  const page = await show(status);
  const note = page.locator('#policies').getByText('interleaved with version 1');
  assert.match(await note.textContent(), /sortition-trainer ope tells/);
  assert.equal(await note.count(), 1);
});

test('a port without control offers no change', long, async () => {
  const status = statuses.busy();
  status.server.has_control = false;
  const page = await show(status);
  await page.getByText('on the control port').waitFor();
  assert.equal(await page.getByRole('button', {name: /Pin|Roll back|Split|Sign in/}).count(), 0);
});

test('behind a proxy the page lives below a path', async () => {
  await show(statuses.fresh());
  await last.context().close();
  last = await checks.open(browser, `${fake.url}/below`);
  const first = last.locator('#first pre').first();
  assert.match(await first.textContent(), new RegExp(`^curl -s ${fake.url}/below/v1/rank `));
  checks.isQuiet(last);
});

test('without storage a token lasts as long as the page', async () => {
  const status = statuses.busy();
  status.server.needs_token = true;
  await show(status);
  await last.addInitScript(() => {
    for (const storage of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(window, storage, {get() {
        throw new DOMException('Access is denied for this document.', 'SecurityError');
      }});
    }
  });
  await last.reload();
  await last.getByLabel('Colours').selectOption('dark');
  await last.getByRole('button', {name: 'Sign in'}).first().click();
  await last.getByRole('dialog').getByLabel('Token').fill('good-token');
  await last.keyboard.press('Enter');
  await last.getByRole('button', {name: 'Sign out'}).waitFor();
  checks.isQuiet(last);
});

test('a newcomer sees the first call with the real address', long, async () => {
  const page = await show(statuses.fresh());
  const first = page.locator('#first');
  assert.match(await first.locator('pre').first().textContent(), new RegExp(`^curl -s ${fake.url}/v1/rank `));
  assert.match(await first.locator('[aria-current=step]').textContent(), /Ask for an answer/);
});

test('the page prints in light colours, without buttons', long, async () => {
  const page = await show(statuses.busy(), checks.views[3]);
  await page.getByLabel('Colours').selectOption('dark');
  await page.emulateMedia({media: 'print'});
  assert.equal(await page.getByRole('button').filter({visible: true}).count(), 0);
  await page.getByRole('heading', {name: 'Value of each policy'}).waitFor();
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), 'rgb(26, 33, 43)');
  await checks.picture(page, 'print');
});

test('the way to the content is one key away', long, async () => {
  const page = await show(statuses.busy());
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', {name: 'Skip to the content'});
  assert.ok(await skip.evaluate((node) => node === document.activeElement));
  await page.keyboard.press('Enter');
  assert.ok(await page.evaluate(() => document.activeElement.id === 'main'));
});
