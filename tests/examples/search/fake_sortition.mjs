// A server of the three calls that answers as it is told, and keeps the path, body
// and headers of each call.
import {FakeHttp, readJson, send} from '../../web/fake_http.mjs';

export class FakeSortition extends FakeHttp {
  troubles = [];  // What happens to the next calls: 'hang up', or a status code.

  async handle(request, response) {
    const body = await readJson(request);
    this.asked.push({path: request.url, body, headers: request.headers});
    const trouble = this.troubles.shift();
    if (trouble === 'hang up') return request.socket.destroy();
    send(response, trouble ? {code: trouble, body: {code: 'NAME', message: 'why'}} :
      {code: 200, body: this.answer(request.url, body)});
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
