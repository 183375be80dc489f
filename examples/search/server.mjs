#!/usr/bin/env node
// A search page over Sortition. README.md says what it shows.
import {readFileSync, writeFileSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {Api, topK} from './api.mjs';
import {createPages} from './pages.mjs';
import {QuestionIndex, readQuestions} from './questions.mjs';
import {Sortition} from './sortition.mjs';
import {Visitors, mostPerSecond} from './visitors.mjs';

const usage = `usage: node examples/search/server.mjs [OPTION ...]

A page that searches questions; Sortition ranks the sentences that may answer them.

  --listen=HOST:PORT     address of the page (default 127.0.0.1:8505; port 0 picks a free one)
  --sortition=URL        HTTP port of sortition-server (default http://127.0.0.1:8503)
  --status=URL           status page to link to (default that of the server)
  --data=FILE            lines question<TAB>sentence<TAB>label; those of a question stand
                         together (default the questions.tsv of this folder)
  --visitors=N           simulate visitors who know the labels, N per second, in
                         [0, ${mostPerSecond}]; the page can change it (default: none)
  --token_file=FILE      file that holds the bearer token for the server
  --port_file=FILE       write 'http PORT' here once the page can be opened
`;

function readOptions() {
  const text = {type: 'string'};
  const {values} = parseArgs({options: {
    listen: {...text, default: '127.0.0.1:8505'},
    sortition: {...text, default: 'http://127.0.0.1:8503'},
    status: text,
    data: {...text, default: fileURLToPath(new URL('questions.tsv', import.meta.url))},
    visitors: text, token_file: text, port_file: text, help: {type: 'boolean', short: 'h'},
  }});
  return values;
}

// Returns {host, port} of "host:port".
function parseAddress(listen) {
  const found = /^(.+):(\d{1,5})$/.exec(listen);
  if (!found || Number(found[2]) > 65535) throw new Error(`listen is ${listen}, must be HOST:PORT`);
  return {host: found[1].replace(/^\[(.*)\]$/, '$1'), port: Number(found[2])};
}

async function run() {
  const options = readOptions();
  if (options.help) return process.stdout.write(usage);
  const {host, port} = parseAddress(options.listen);
  const url = options.sortition.replace(/\/$/, '');
  const token = options.token_file ? readFileSync(options.token_file, 'utf8').trim() : '';
  const sortition = new Sortition(url, {token});
  const index = new QuestionIndex(readQuestions(options.data));
  let visitors = null;
  if (options.visitors !== undefined) {
    visitors = new Visitors(sortition, index.questions, topK);
    visitors.setRate(Number(options.visitors));
  }
  const api = new Api({sortition, index, visitors, status: options.status ?? url});
  const isPublic = !/^(127\.|::1$|localhost$)/.test(host);
  const pages = createPages(api, {isPublic});
  await new Promise((resolve, reject) => {
    pages.once('error', reject);
    pages.listen(port, host, resolve);
  });
  const address = pages.address();
  if (options.port_file) writeFileSync(options.port_file, `http ${address.port}\n`);
  console.log(`search page: http://${host.includes(':') ? `[${host}]` : host}:${address.port}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0));
}

run().catch((error) => {
  console.error(`search: ${error.message}`);
  process.exit(error.code?.startsWith?.('ERR_PARSE_ARGS') ? 2 : 1);
});
