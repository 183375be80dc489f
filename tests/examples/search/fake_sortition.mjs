// A server of the three calls that answers as it is told, and keeps what it is
// asked.
import {createServer} from 'node:http';

export class FakeSortition {
  asked = [];    // {path, body, headers} in order.
  troubles = [];  // What happens to the next calls: 'hang up', or a status code.

  static async start() {
    const fake = new FakeSortition();
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
    let text = '';
    for await (const part of request) text += part;
    const body = JSON.parse(text);
    this.asked.push({path: request.url, body, headers: request.headers});
    const trouble = this.troubles.shift();
    if (trouble === 'hang up') return request.socket.destroy();
    if (trouble) response.statusCode = trouble;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(trouble ? {code: 'NAME', message: 'why'} : this.answer(request.url, body)));
  }

  // Ranks from the last candidate to the first.
  answer(path, {context, top_k: topK}) {
    if (path !== '/v1/rank') return {};
    const number = context.candidates.columns.num_candidates;
    const order = Array.from({length: topK}, (_, rank) => number - 1 - rank);
    return {result: {decision_id: context.decision_id, model: {name: 'default', version: '3'},
      log_propensity: Math.log(0.125)}, order,
    conditional_log_propensities: order.map((_, rank) => rank === 0 ? Math.log(0.125) : 0)};
  }

  bodies(path) {
    return this.asked.filter((call) => call.path === path).map(({body}) => body);
  }
}
