// A server of web/page that answers /status.json as it is told, and keeps what
// it is asked.
import {readFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const folder = fileURLToPath(new URL('../../web/page', import.meta.url));
const types = {'.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8', '.svg': 'image/svg+xml'};

export class FakeServer {
  status = {};       // Or a function that returns it.
  asked = [];        // Paths with queries, in order.
  changes = [];      // {body, authorization} of each POST to /v1/models/change.
  answer = {code: 200, body: {}};  // To these.
  listAnswer = {code: 200, body: {}};  // To POST /v1/models/list.
  listed = [];       // The authorization of each of them.
  isSilent = false;  // Connections are closed without an answer.

  static async start() {
    const fake = new FakeServer();
    fake.server = createServer((request, response) => fake.handle(request, response));
    await new Promise((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    fake.url = `http://127.0.0.1:${fake.server.address().port}`;
    return fake;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

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
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(isWhole ? status : {...status, history: undefined}));
  }

  async takeChange(request, response) {
    let text = '';
    for await (const part of request) text += part;
    this.changes.push({method: request.method, body: JSON.parse(text),
      authorization: request.headers.authorization});
    send(response, this.answer);
  }
}

function send(response, {code, body}) {
  response.statusCode = code;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
