// What must hold of the page in a browser, whoever serves it.
import assert from 'node:assert/strict';
import {mkdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';

// PAGE_MODULES is where playwright-core and axe-core are installed, PAGE_BROWSER
// a Chromium, PAGE_PICTURES where pictures of the page go.
const {PAGE_MODULES, PAGE_BROWSER, PAGE_PICTURES} = process.env;
const require = createRequire(join(PAGE_MODULES, 'modules.js'));
const {chromium} = require('playwright-core');
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// A browser on a busy machine takes its time.
const patienceMs = 180000;

export const views = [360, 1440].flatMap((width) => ['light', 'dark'].map((colours) =>
  ({width, colours, name: `${width}_${colours}`})));

// No name resolves, nor any other address: what the page asks for elsewhere fails and is seen.
export function launch() {
  return chromium.launch({executablePath: PAGE_BROWSER,
    args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1']});
}

// Opens `url` and waits until the page has `ready`. The page's `trouble` has what its
// console said, and requests to elsewhere.
export async function open(browser, url, view = views[2], {ready = '#process', height = 900, ...options} = {}) {
  const context = await browser.newContext({viewport: {width: view.width, height},
    colorScheme: view.colours, reducedMotion: 'reduce', ...options});
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  page.trouble = [];
  page.on('console', (message) => page.trouble.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => page.trouble.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) page.trouble.push(`request: ${request.url()}`);
  });
  await page.goto(`${url}/`);
  await page.locator(ready).waitFor();
  return page;
}

export function isQuiet(page) {
  assert.deepEqual(page.trouble, []);
}

export async function fitsItsWidth(page) {
  const tooWide = await page.evaluate(() => {
    const {scrollWidth, clientWidth} = document.documentElement;
    if (scrollWidth <= clientWidth) return [];
    return [...document.querySelectorAll('body *')]
        .filter((node) => node.getBoundingClientRect().right > clientWidth + 1)
        .slice(0, 5).map((node) => node.outerHTML.slice(0, 200));
  });
  assert.deepEqual(tooWide, []);
}

export async function isAccessible(page) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => (await window.axe.run(document, {runOnly: ['wcag2a',
    'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})).violations
      .map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(({html, failureSummary}) =>
        `${html.slice(0, 300)} ${failureSummary}`).join(' | ')}`));
  assert.deepEqual(found, []);
}

// Every chart has as many lines as names, and a line has more than one point.
export async function hasCharts(page, least = 1) {
  const charts = await page.evaluate(() => [...document.querySelectorAll('.chart')].map((chart) => ({
    title: chart.querySelector('figcaption').textContent,
    names: chart.querySelectorAll('.legend li').length,
    lines: [...chart.querySelectorAll('.plot path.line')].map((line) => line.getAttribute('d')),
    ticks: chart.querySelectorAll('.plot svg .tick').length,
  })));
  assert.ok(charts.length >= least, `${charts.length} charts, must be at least ${least}`);
  for (const {title, names, lines, ticks} of charts) {
    assert.equal(lines.length, names, title);
    assert.ok(lines.some((line) => /M[-\d. ]+L[-\d. ]+/.test(line)), `${title}: no line`);
    assert.ok(ticks >= 4, `${title}: ${ticks} ticks`);
  }
}

export async function picture(page, name) {
  mkdirSync(PAGE_PICTURES, {recursive: true});
  await page.screenshot({path: join(PAGE_PICTURES, `${name}.png`), fullPage: true,
    timeout: patienceMs});
}
