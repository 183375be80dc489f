// A server of web/page that answers /status.json as it is told, and keeps the paths
// that it is asked for, with their queries.
import {readFile} from 'node:fs/promises';
import {extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {FakeHttp, readJson, send} from './fake_http.mjs';

const folder = fileURLToPath(new URL('../../web/page', import.meta.url));
const types = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8', '.svg': 'image/svg+xml'};

export class FakeServer extends FakeHttp {
  status = {};       // Or a function that returns it.
  changes = [];      // {body, authorization} of each POST to /v1/models/change.
  answer = {code: 200, body: {}};  // To these.
  listAnswer = {code: 200, body: {}};  // To POST /v1/models/list.
  listed = [];       // The authorization of each of them.
  isSilent = false;  // Connections are closed without an answer.

  async handle(request, response) {
    // A proxy may serve the page at a path of its own.
    const pathname = new URL(request.url, this.url).pathname.replace(/^\/below/, '');
    this.asked.push(request.url);
    if (this.isSilent && pathname === '/status.json') return request.socket.destroy();
    // As the real server has it.
    response.setHeader('content-security-policy',
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response.setHeader('x-content-type-options', 'nosniff');
    if (pathname === '/status.json') return this.sendStatus(request, response);
    if (pathname === '/v1/models/change') return this.takeChange(request, response);
    if (pathname === '/v1/models/list') {
      this.listed.push(request.headers.authorization);
      return send(response, this.listAnswer);
    }
    try {
      const name = pathname === '/' ? 'index.html' : pathname.slice(1);
      const bytes = await readFile(join(folder, name));
      response.setHeader('content-type', types[extname(name)]);
      response.end(bytes);
    } catch {
      response.statusCode = 404;
      response.end('there is no such page');
    }
  }

  sendStatus(request, response) {
    const status = typeof this.status === 'function' ? this.status() : this.status;
    const isWhole = !request.url.includes('history=0');
    send(response, {code: 200, body: isWhole ? status : {...status, history: undefined}});
  }

  async takeChange(request, response) {
    this.changes.push({method: request.method, body: await readJson(request),
      authorization: request.headers.authorization});
    send(response, this.answer);
  }
}
