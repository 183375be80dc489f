// The pictures of README.md: made again, and compared with those in
// docs/pictures, of which UPDATE_PICTURES=1 makes new ones.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {after, before, test} from 'node:test';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {FakeServer} from './fake_server.mjs';
import * as checks from './page_checks.mjs';
import {searchLog} from './report_log.mjs';
import * as statuses from './statuses.mjs';

// SORTITION_BIN is where sortition and sortition-trainer are.
const {PAGE_PICTURES, SORTITION_BIN, UPDATE_PICTURES} = process.env;
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'docs/pictures');
const width = 1200;
// Small fonts cost more in one Chromium than in another.
const mostBytes = 200000;
// Of a picture's height. Fonts differ between machines.
const sizeTolerance = 0.1;
// Of the mean difference of colours, in [0, 1]. Other fonts cost less, a tint of the
// panels costs 0.03.
const colourTolerance = 0.02;

let browser;
before(async () => {
  browser = await checks.launch();
  mkdirSync(PAGE_PICTURES, {recursive: true});
});
after(() => browser?.close());

// Returns what the part of `page` down to the end of `last` says, without its
// numbers, which may be rounded otherwise elsewhere: a line for each text, and
// one that counts the marks of each chart.
async function digest(page, last) {
  return page.evaluate((selector) => {
    const end = document.querySelector(selector);
    const isAbove = (node) => end.contains(node) ||
        Boolean(end.compareDocumentPosition(node) & Node.DOCUMENT_POSITION_PRECEDING);
    const nodes = [...document.querySelectorAll('h1, h2, h3, p, dt, th, caption, nav a, figcaption, ' +
        '.legend li, summary, button, svg')].filter((node) => isAbove(node) && node.checkVisibility());
    return nodes.map((node) => {
      if (!(node instanceof SVGElement)) {
        return `${node.localName}: ${node.textContent.trim().replace(/\s+/g, ' ')
            .replace(/[-−+]?\d[\d,.]*/g, '#')}`;
      }
      const counts = ['path', 'rect', 'circle', 'polygon'].map((name) =>
        [name, node.querySelectorAll(name).length]).filter(([, number]) => number > 0);
      return `svg: ${counts.map(([name, number]) => `${number} ${name}`).join(', ')}`;
    });
  }, last);
}

// Returns the height of a PNG, and its mean colours in 48 × 36 fields.
async function coarse(png) {
  const page = await browser.newPage();
  const found = await page.evaluate(async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = new OffscreenCanvas(48, 36);
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return {height: image.height, width: image.width,
      colours: [...context.getImageData(0, 0, canvas.width, canvas.height).data]};
  }, `data:image/png;base64,${png.toString('base64')}`);
  await page.close();
  return found;
}

// Compares what `page` shows down to the end of `last` with docs/pictures/NAME.png
// and NAME.txt.
async function compare(page, name, last) {
  const {y, height} = await page.locator(last).boundingBox();
  const png = await page.screenshot({fullPage: true, animations: 'disabled',
    clip: {x: 0, y: 0, width, height: Math.ceil(y + height)}});
  const texts = `${(await digest(page, last)).join('\n')}\n`;
  const paths = {png: join(folder, `${name}.png`), txt: join(folder, `${name}.txt`)};
  writeFileSync(join(PAGE_PICTURES, `readme_${name}.png`), png);
  if (UPDATE_PICTURES) {
    writeFileSync(paths.png, png);
    writeFileSync(paths.txt, texts);
  }
  const how = `docs/pictures/${name} is no longer what one sees; UPDATE_PICTURES=1 makes it anew`;
  assert.equal(texts, readFileSync(paths.txt, 'utf8'), how);
  const kept = readFileSync(paths.png);
  assert.ok(kept.length < mostBytes, `${name}.png has ${kept.length} bytes, must be below ${mostBytes}`);
  const [now, was] = [await coarse(png), await coarse(kept)];
  assert.equal(was.width, width);
  assert.ok(Math.abs(now.height - was.height) <= sizeTolerance * was.height,
      `${how}: ${now.height} pixels high, was ${was.height}`);
  const sum = now.colours.reduce((total, each, i) => total + Math.abs(each - was.colours[i]), 0);
  const difference = sum / now.colours.length / 255;
  assert.ok(difference <= colourTolerance, `${how}: colours differ by ${difference.toFixed(4)}`);
}

// The same hour in fewer samples: smooth lines make a small file.
function thinned(status, every) {
  const keep = (values) => values.filter((_, i) => i % every === every - 1);
  const {times_us: times, series} = status.history;
  return {...status, history: {times_us: keep(times), series: series.map((each) => ({...each,
    values: keep(each.values), lower: keep(each.lower), upper: keep(each.upper)}))}};
}

test('the picture of the page is what one sees', async () => {
  const fake = await FakeServer.start();
  try {
    fake.status = thinned(statuses.busy(), 8);
    const page = await checks.open(browser, fake.url, {width, colours: 'light'}, {timezoneId: 'UTC'});
    await checks.hasCharts(page, 2);
    await compare(page, 'page', '#policies');
    checks.isQuiet(page);
  } finally {
    await fake.stop();
  }
});

test('the picture of a report is what sortition-trainer writes', async () => {
  const work = mkdtempSync(join(tmpdir(), 'sortition-report-'));
  try {
    const run = (program, ...options) => execFileSync(resolve(SORTITION_BIN, program), options, {cwd: work});
    const {log, policy} = searchLog(8000, 2);
    writeFileSync(join(work, 'log.dsjson'), log);
    writeFileSync(join(work, 'new.jsonl'), policy);
    run('sortition', 'log', 'import', '--format=dsjson', '--tuples=tuples', '--model=search',
        '--version=3', '--cannot_abstain', 'log.dsjson');
    run('sortition-trainer', 'ope', '--tuples=tuples', '--model=search',
        '--policies=new=new.jsonl,uniform', '--page=report.html');
    const context = await browser.newContext({viewport: {width, height: 900}, colorScheme: 'light'});
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(work, 'report.html')).href);
    await compare(page, 'report', '#answer');
  } finally {
    rmSync(work, {recursive: true});
  }
});

// What the picture of the loop has, by its layout in a browser.
async function measuredLoop(colours) {
  const context = await browser.newContext({viewport: {width: 1020, height: 420}, colorScheme: colours});
  const page = await context.newPage();
  await page.goto(pathToFileURL(join(folder, 'loop.svg')).href);
  await page.screenshot({path: join(PAGE_PICTURES, `readme_loop_${colours}.png`)});
  return page.evaluate(() => {
    const place = (node) => {
      const {x, y, width, height} = node.getBBox();
      return {left: x, top: y, right: x + width, bottom: y + height};
    };
    const fill = (node) => getComputedStyle(node).fill.match(/\d+/g).map(Number);
    const paper = document.querySelector('.paper');
    const texts = [...document.querySelectorAll('text')].map((node) => {
      const box = node.parentNode.querySelector(':scope > rect');
      return {text: node.textContent, place: place(node), colour: fill(node),
        isName: node.classList.contains('name'), inside: place(box), under: fill(box ?? paper)};
    });
    const points = [...document.querySelectorAll('.arrow')].flatMap((arrow) =>
      Array.from({length: 101}, (_, i) => arrow.getPointAtLength(arrow.getTotalLength() * i / 100))
          .map(({x, y}) => ({left: x, right: x, top: y, bottom: y})));
    const boxes = [...document.querySelectorAll('.box > rect')].map(place);
    return {texts, points, boxes};
  });
}

const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const grown = ({left, right, top, bottom}, by) =>
  ({left: left - by, right: right + by, top: top - by, bottom: bottom + by});
const holds = (a, b) => a.left <= b.left && b.right <= a.right && a.top <= b.top && b.bottom <= a.bottom;

// Contrast as WCAG 2.2 defines it.
function contrast(a, b) {
  const luminance = (colour) => colour.map((each) => each / 255)
      .map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
      .reduce((sum, each, i) => sum + each * [0.2126, 0.7152, 0.0722][i], 0);
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

for (const colours of ['light', 'dark']) {
  test(`in the picture of the loop no text leaves its place or meets another (${colours})`, async () => {
    const {texts, points, boxes} = await measuredLoop(colours);
    assert.deepEqual(texts.filter(({isName}) => isName).map(({text}) => text), ['front end',
      'sortition-server', 'log', 'sortition-sidecar', 'tuples', 'sortition-trainer', 'gate', 'model store']);
    for (const [i, {text, place, inside, colour, under}] of texts.entries()) {
      assert.ok(holds(grown(inside, -3), place), `"${text}" leaves its box`);
      assert.ok(contrast(colour, under) >= 4.5, `"${text}" has too little contrast`);
      for (const other of texts.slice(i + 1)) {
        assert.ok(!meet(place, other.place), `"${text}" meets "${other.text}"`);
      }
      assert.ok(!points.some((point) => meet(grown(point, 1), place)), `an arrow crosses "${text}"`);
      // A text on the paper is beside all boxes.
      const around = boxes.filter((box) => meet(box, place));
      assert.ok(around.every((box) => holds(box, place)), `"${text}" meets a box`);
    }
  });
}

test('the README shows the pictures, and says what they show', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  for (const name of ['page.png', 'report.png', 'loop.svg']) {
    const [, words] = text.match(new RegExp(`!\\[([^\\]]+)\\]\\(docs/pictures/${name}\\)`)) ?? [];
    assert.ok(words?.length >= 40, `README.md: ${name} has no text for who does not see it`);
  }
});
