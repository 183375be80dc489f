// A gRPC server that answers as it is told, and keeps what it was asked.
import {once, EventEmitter} from 'node:events';
import grpc from '@grpc/grpc-js';
import {health, ranking} from './node_modules/sortition/source/methods.js';

export const {status} = grpc;

const answers = {
  Rank: ({context}) => ({result: {decisionId: context.decisionId, model: {}}, order: [0]}),
  Select: ({context}) => ({result: {decisionId: context.decisionId, model: {}}, selected: 0}),
  ReportShown: () => ({}),
  ReportFeedback: ({feedback}) => ({accepted: feedback.length}),
};

export class FakeServer {
  #server = new grpc.Server();
  #events = new EventEmitter();
  #watches = new Set();
  #health = 'SERVING';

  constructor() {
    this.reset();
  }

  static async start() {
    const fake = new FakeServer();
    const methods = Object.fromEntries(Object.keys(answers).map((name) =>
      [name, (call, callback) => fake.#answer(name, call, callback)]));
    fake.#server.addService(ranking, methods);
    fake.#server.addService(health, {Watch: (call) => {
      fake.#watches.add(call);
      call.write({status: fake.#health});
    }});
    fake.port = await new Promise((resolve, reject) => fake.#server.bindAsync('127.0.0.1:0',
        grpc.ServerCredentials.createInsecure(), (error, port) => error ? reject(error) : resolve(port)));
    fake.address = `127.0.0.1:${fake.port}`;
    return fake;
  }

  // Answers everything from now on.
  reset() {
    this.calls = [];        // {request, metadata, deadline, peer, host}, in order.
    this.errors = [];       // Codes of the next answers.
    this.error = undefined; // Code of all others; undefined: they succeed.
    this.isSilent = false;  // Calls get no answer.
    this.pushbackMs = 250;  // When errors ask to be tried again.
    this.#wasCancelled = false;
  }
  #wasCancelled = false;

  #answer(name, call, callback) {
    const {request, metadata} = call;
    this.calls.push({request, metadata, deadline: call.getDeadline(), peer: call.getPeer(), host: call.getHost()});
    call.on('cancelled', () => {
      this.#wasCancelled = true;
      this.#events.emit('cancelled');
    });
    this.#events.emit('called');
    if (this.isSilent) return;
    const code = this.errors.shift() ?? this.error;
    if (code === undefined) return callback(null, answers[name](request));
    const trailer = new grpc.Metadata();
    trailer.set('grpc-retry-pushback-ms', String(this.pushbackMs));
    callback({code, details: 'as the test wants', metadata: trailer});
  }

  // Resolve once a call came, and once one was cancelled.
  async called() {
    if (this.calls.length === 0) await once(this.#events, 'called');
  }

  async cancelled() {
    if (!this.#wasCancelled) await once(this.#events, 'cancelled');
  }

  setHealth(name) {
    this.#health = name;
    for (const watch of this.#watches) watch.write({status: name});
  }

  // Resolves once `ranker` has heard whether this server serves.
  async watched(ranker, isServing) {
    while (ranker.serving()[this.address] !== isServing) await new Promise((resolve) => setImmediate(resolve));
  }

  stop() {
    this.#server.forceShutdown();
  }
}
