// The search page in headless Chromium, before a server that answers as it is told.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Api} from '../../../examples/search/api.mjs';
import {createPages} from '../../../examples/search/pages.mjs';
import {QuestionIndex} from '../../../examples/search/questions.mjs';
import {Sortition} from '../../../examples/search/sortition.mjs';
import {Visitors} from '../../../examples/search/visitors.mjs';
import * as checks from '../../web/page_checks.mjs';
import {FakeSortition} from './fake_sortition.mjs';

let browser;
let fake;
let sortition;
let pages;
let url;
before(async () => {
  fake = await FakeSortition.start();
  sortition = new Sortition(fake.url);
  const sentences = Array.from({length: 10}, (_, i) => `Sentence ${i}. ${'It is long enough for two lines. '.repeat(3)}`);
  const index = new QuestionIndex([{question: 'Why is the sky <b>blue</b>?', sentences, labels: sentences.map(() => 0)}]);
  const visitors = new Visitors(sortition, index.questions, 10);
  pages = createPages(new Api({sortition, index, visitors, status: fake.url}));
  await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${pages.address().port}`;
  browser = await checks.launch();
});
after(async () => {
  await browser?.close();
  sortition.close();
  pages.closeAllConnections();
  pages.close();
  await fake.stop();
});

const open = (view, height = 900) => checks.open(browser, url, view, {ready: '#visitors', height});

async function search(page) {
  await page.getByLabel('A question').fill('sky');
  await page.keyboard.press('Enter');
  await page.locator('#results li').nth(9).waitFor();
}

for (const view of checks.views) {
  test(`the search page at ${view.name} is quiet, accessible, and fits`, async () => {
    const page = await open(view);
    await checks.isAccessible(page);
    await search(page);
    await page.locator('#log summary').first().click();
    await checks.isAccessible(page);
    await checks.fitsItsWidth(page);
    await checks.picture(page, `search_${view.name}`);
    checks.isQuiet(page);
    await page.context().close();
  });
}

test('a click, a thumb and what came into view are reported', async () => {
  const page = await open(checks.views[2], 500);
  fake.asked = [];
  await search(page);
  // In the order of the answer, and as text.
  assert.match(await page.locator('#results button').first().textContent(), /^Sentence 9\./);
  assert.equal(await page.locator('#news').textContent(), '10 sentences for “Why is the sky <b>blue</b>?”');
  await page.locator('#log').getByText('ranks were in view').first().waitFor();
  const seen = () => fake.bodies('/v1/shown').map(({seen_ranks: ranks}) => ranks);
  const [atFirst, ...more] = seen();
  assert.deepEqual(more, []);  // One report for all that came into view at once.
  assert.ok(atFirst >= 1 && atFirst < 10, `${atFirst} ranks seen in a low window`);
  await page.locator('#results li').last().scrollIntoViewIfNeeded();
  await page.locator('#log').getByText('10 ranks were in view').waitFor();
  assert.equal(seen().at(-1), 10);

  await page.locator('#results button').nth(2).click();
  await page.getByRole('button', {name: 'Thumbs down'}).click();
  await page.locator('#log').getByText('loss 1 for the whole page').waitFor();
  const id = fake.bodies('/v1/rank')[0].context.decision_id;
  assert.deepEqual(fake.bodies('/v1/feedback').map(({feedback}) => feedback[0]), [
    {feedback_id: `${id}-click-2`, decision_id: id, reward: 1, rank: 2},
    {feedback_id: `${id}-thumb`, decision_id: id, loss: 1}]);
  assert.ok(await page.getByRole('button', {name: 'Thumbs up'}).isDisabled());
  assert.match(await page.locator('#decision').textContent(), new RegExp(`${id}.*one of 8 cases`));
  checks.isQuiet(page);
});
