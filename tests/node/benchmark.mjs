// What the client adds to a bare RPC: 100 candidates of 46 features, 16 calls at a
// time, in turn with calls of the same bytes that are ready to be sent, and have a
// deadline, too. CPU time is what others on the machine disturb least. usage: benchmark.mjs [BATCHES]
import {Client, Metadata, credentials} from '@grpc/grpc-js';
import {Ranker} from 'sortition';
import {ranking} from './node_modules/sortition/source/methods.js';
import {decisionRequest} from './node_modules/sortition/source/requests.js';
import {ServerProcess, tempFolder} from './processes.mjs';

const numCandidates = 100;
const numFeatures = 46;
const batchSize = 400;
const inFlight = 16;
const numBatches = Number(process.argv[2] ?? 15);
const limitMs = 0.15;

const features = Float32Array.from({length: numCandidates * numFeatures}, () => Math.random());
const rows = Array.from({length: numCandidates}, (_, i) =>
  Array.from(features.subarray(i * numFeatures, (i + 1) * numFeatures)));
const objects = rows.map((row) => Object.fromEntries(row.map((value, j) => [`f${j}`, value])));

const server = await new ServerProcess(tempFolder(),
    ['--admission.max_wait_seconds=60', '--admission.target_wait_seconds=60']).start();
const ranker = new Ranker({addresses: server.address});
const bare = new Client(server.address, credentials.createInsecure());
const bytes = ranking.Rank.requestSerialize(decisionRequest('rank', features, {numFeatures, topK: 10}, {model: ''}));
const callBare = () => new Promise((resolve, reject) => {
  bare.makeUnaryRequest(ranking.Rank.path, (sent) => sent, ranking.Rank.responseDeserialize, bytes,
      new Metadata(), {deadline: Date.now() + 5000}, (error, answer) => error ? reject(error) : resolve(answer));
});

const calls = {
  bare: callBare,
  Float32Array: () => ranker.rank(features, {numFeatures, topK: 10}),
  'arrays of arrays': () => ranker.rank(rows, {topK: 10}),
  'objects of 46 named numbers': () => ranker.rank(objects, {topK: 10}),
};
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const batches = Object.fromEntries(Object.keys(calls).map((name) => [name, []]));
for (let batch = 0; batch < numBatches; ++batch) {
  for (const [name, call] of Object.entries(calls)) {
    const start = performance.now();
    const before = process.cpuUsage();
    await Promise.all(Array.from({length: inFlight}, async () => {
      for (let i = 0; i < batchSize; i += inFlight) await call();
    }));
    const {user, system} = process.cpuUsage(before);
    // The first calls compile.
    if (batch === 0) continue;
    batches[name].push({wall: (performance.now() - start) / batchSize, cpu: (user + system) / 1000 / batchSize});
  }
}
ranker.close();
bare.close();
await server.stop();

console.log('ms per call; medians of batches       wall        CPU here    CPU beyond the bare RPC');
const beyond = {};
for (const [name, values] of Object.entries(batches)) {
  beyond[name] = median(values.map(({cpu}, i) => cpu - batches.bare[i].cpu));
  const figures = [median(values.map(({wall}) => wall)), median(values.map(({cpu}) => cpu)), beyond[name]];
  console.log(name.padEnd(38) + figures.map((figure) => figure.toFixed(3).padEnd(9)).join('   '));
}
const isMet = beyond.Float32Array <= limitMs;
console.log(`${isMet ? 'PASS' : 'MISS'} Float32Array of 100 x 46 beyond the bare RPC: ` +
    `${beyond.Float32Array.toFixed(3)} ms of CPU, limit ${limitMs} ms`);
process.exitCode = isMet ? 0 : 1;
