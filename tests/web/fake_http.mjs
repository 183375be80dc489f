// What fake servers have in common: a free port, and a list of what they are asked.
import {createServer} from 'node:http';

export class FakeHttp {
  asked = [];  // What handle() notes, in order.

  static async start() {
    const fake = new this();
    fake.server = createServer((request, response) => fake.handle(request, response));
    await new Promise((resolve) => fake.server.listen(0, '127.0.0.1', resolve));
    fake.url = `http://127.0.0.1:${fake.server.address().port}`;
    return fake;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

export async function readJson(request) {
  let text = '';
  for await (const part of request) text += part;
  return JSON.parse(text);
}

export function send(response, {code, body}) {
  response.statusCode = code;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}
