// The page in a browser, against processes that run: PAGE_URL. README.md has the
// other variables.
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import * as checks from './page_checks.mjs';

const {PAGE_URL, PAGE_MOVES, PAGE_ROLLBACK, PAGE_TOKEN} = process.env;
const url = PAGE_URL?.replace(/\/$/, '');
assert.ok(url, 'PAGE_URL is empty, must be the address of a server or sidecar');

let browser;
before(async () => { browser = await checks.launch(); });
after(() => browser?.close());

for (const view of checks.views) {
  test(`the page at ${view.name} is quiet, accessible, drawn, and fits`, async () => {
    const page = await checks.open(browser, url, view);
    await checks.fitsItsWidth(page);
    await checks.hasCharts(page, PAGE_MOVES ? 1 : 0);
    await checks.isAccessible(page);
    await checks.picture(page, `real_${view.name}`);
    checks.isQuiet(page);
    await page.context().close();
  });
}

test('numbers move', {skip: !PAGE_MOVES && 'PAGE_MOVES is not set'}, async () => {
  const page = await checks.open(browser, url);
  const text = await page.locator('#now').textContent();
  await page.waitForFunction((before) => document.getElementById('now').textContent !== before, text);
  const line = page.locator('.chart .plot path.line').first();
  const path = await line.getAttribute('d');
  await page.waitForFunction((before) =>
    document.querySelector('.chart .plot path.line').getAttribute('d') !== before, path);
  checks.isQuiet(page);
});

test('a rollback asks first, and then another version serves',
    {skip: !PAGE_ROLLBACK && 'PAGE_ROLLBACK is not set'}, async () => {
      const page = await checks.open(browser, url);
      if (PAGE_TOKEN) {
        await page.getByRole('button', {name: 'Sign in'}).click();
        await page.getByLabel('Token').fill(PAGE_TOKEN);
        await page.keyboard.press('Enter');
      }
      const status = async () => (await (await fetch(`${url}/status.json?history=0`)).json()).server.models
          .find(({name}) => name === PAGE_ROLLBACK);
      const before = await status();
      const button = page.getByRole('button', {name: `Roll back … ${PAGE_ROLLBACK}`});
      await button.click();
      await page.keyboard.type('cancelled');
      await page.keyboard.press('Escape');
      assert.equal((await status()).serving.change, before.serving.change);
      await button.click();
      await page.keyboard.type('tried by a test');
      const verb = await page.getByRole('dialog').getByRole('button', {name: /^Roll back to/}).textContent();
      await page.keyboard.press('Enter');
      await page.getByRole('status').filter({hasText: /serves( now)?\./}).waitFor();
      const now = await status();
      assert.equal(`Roll back to version ${now.version}`, verb);
      assert.equal(now.serving.change, String(Number(before.serving.change) + 1));
      await page.getByText('tried by a test').first().waitFor();
      checks.isQuiet(page);
    });
