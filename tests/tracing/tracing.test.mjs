// A caller with an SDK of OpenTelemetry, and the server it calls, at one
// collector.
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {after, before, test} from 'node:test';
import {SpanKind, trace} from '@opentelemetry/api';
import {OTLPTraceExporter} from '@opentelemetry/exporter-trace-otlp-http';
import {registerInstrumentations} from '@opentelemetry/instrumentation';
import {HttpInstrumentation} from '@opentelemetry/instrumentation-http';
import {resourceFromAttributes} from '@opentelemetry/resources';
import {
  AlwaysOffSampler, AlwaysOnSampler, NodeTracerProvider, ParentBasedSampler, SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import {ServerProcess, tempFolder} from './processes.mjs';

// Keeps the spans that are exported to it, with the name of their service.
class Collector {
  spans = [];
  types = new Set();

  async start() {
    this.server = createServer(async (request, response) => {
      let body = '';
      for await (const part of request.setEncoding('utf8')) body += part;
      assert.equal(request.method, 'POST');
      assert.equal(request.url, '/v1/traces');
      this.types.add(request.headers['content-type']);
      for (const {resource, scopeSpans} of JSON.parse(body).resourceSpans) {
        const service = resource.attributes.find(({key}) => key === 'service.name').value.stringValue;
        for (const {spans} of scopeSpans) this.spans.push(...spans.map((span) => ({service, span})));
      }
      response.setHeader('Content-Type', 'application/json').end('{}');
    }).listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }
  of(service) {
    return this.spans.filter((each) => each.service === service).map(({span}) => span);
  }
}

const collector = new Collector();
let server;
let httpPort;
let http;
let provider;

const on = new AlwaysOnSampler();
const off = new AlwaysOffSampler();

// Records all traces but those that begin with a span 'unseen'.
function startSdk() {
  provider = new NodeTracerProvider({
    sampler: new ParentBasedSampler({root: {
      shouldSample: (parent, traceId, name) => (name === 'unseen' ? off : on).shouldSample(parent, traceId),
      toString: () => 'by name',
    }}),
    resource: resourceFromAttributes({'service.name': 'shop'}),
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({url: `${collector.url}/v1/traces`}))],
  });
  provider.register();  // With the W3C propagator, the SDK's default.
  registerInstrumentations({tracerProvider: provider, instrumentations: [new HttpInstrumentation({
    disableIncomingRequestInstrumentation: true,  // The collector is no part of the shop.
    ignoreOutgoingRequestHook: ({port}) => Number(port) === Number(new URL(collector.url).port),
  })]});
  // Only now, so that the instrumentation can wrap it.
  http = createRequire(import.meta.url)('http');
}

// Calls the server as an application does, which knows nothing of traces.
function post(path, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(
        {host: '127.0.0.1', port: httpPort, path, method: 'POST', headers: {'Content-Type': 'application/json'}},
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => { text += part; });
          response.on('end', () => resolve({code: response.statusCode, json: JSON.parse(text)}));
        });
    request.on('error', reject).end(JSON.stringify(body));
  });
}

const rankBody = (id) => ({
  context: {decision_id: id, candidates: {num_features: 2, dense: {values: [1, 0, 0, 1, 1, 1]}}},
});

before(async () => {
  await collector.start();
  startSdk();
  server = new ServerProcess(tempFolder(), [`--tracing.endpoint=${collector.url}`]);
  await server.start();
  httpPort = /^http (\d+)$/m.exec(readFileSync(server.portFile, 'utf8'))[1];
});
after(() => collector.server.close());

test('the spans of the caller and of the server are one trace', async () => {
  assert.equal((await trace.getTracer('shop').startActiveSpan('unseen', async (span) => {
    const answer = await post('/v1/rank', rankBody('unseen'));
    span.end();
    return answer;
  })).code, 200);

  await trace.getTracer('shop').startActiveSpan('search', async (span) => {
    assert.equal((await post('/v1/rank', rankBody('seen'))).code, 200);
    assert.equal((await post('/v1/feedback', {id: 'seen', reward: 1})).code, 200);
    span.end();
  });
  await provider.forceFlush();
  await server.stop();  // Sends what it has.

  const shop = collector.of('shop');
  const served = collector.of('sortition-server');
  const search = shop.find(({name}) => name === 'search');
  const requests = shop.filter(({parentSpanId}) => parentSpanId === search.spanId);
  assert.equal(requests.length, 2);
  assert.ok(requests.every(({kind}) => kind === SpanKind.CLIENT + 1));  // OTLP counts from 1.
  assert.ok([...shop, ...served].every(({traceId}) => traceId === search.traceId));

  for (const [i, method] of [[0, 'Rank'], [1, 'ReportFeedback']]) {
    const call = served.find(({parentSpanId}) => parentSpanId === requests[i].spanId);
    assert.equal(call.name, `sortition.v1.Ranking/${method}`);
    assert.equal(call.kind, SpanKind.SERVER + 1);
    const children = served.filter(({parentSpanId}) => parentSpanId === call.spanId);
    assert.deepEqual(children.map(({name}) => name), ['admission', 'decision', 'append']);
    for (const child of children) {
      assert.ok(BigInt(call.startTimeUnixNano) <= BigInt(child.startTimeUnixNano));
      assert.ok(BigInt(child.endTimeUnixNano) <= BigInt(call.endTimeUnixNano));
    }
  }
  // Nothing of the call that the caller did not sample.
  assert.equal(served.length, 8);
});

// What the SDK exports is a second definition of the form.
test('spans have the form of those of the SDK', () => {
  const ofSdk = collector.of('shop')[0];
  const attributeKeys = new Set(['key', 'value']);
  const valueKeys = new Set(['stringValue', 'boolValue', 'intValue', 'doubleValue']);
  for (const span of collector.of('sortition-server')) {
    for (const [key, value] of Object.entries(span)) {
      assert.ok(key in ofSdk || key === 'parentSpanId', key);
      if (key in ofSdk) assert.equal(typeof value, typeof ofSdk[key], key);
    }
    for (const id of ['traceId', 'spanId']) {
      assert.equal(span[id].length, ofSdk[id].length);
      assert.match(span[id], /^[0-9a-f]+$/);
    }
    for (const time of ['startTimeUnixNano', 'endTimeUnixNano']) {
      assert.equal(span[time].length, ofSdk[time].length);
    }
    for (const attribute of span.attributes) {
      assert.ok(Object.keys(attribute).every((key) => attributeKeys.has(key)));
      const [[kind]] = Object.entries(attribute.value);
      assert.ok(valueKeys.has(kind), kind);
    }
  }
  assert.deepEqual([...collector.types], ['application/json']);
});
