// Canned answers of /status.json, in its JSON mapping: 64-bit numbers are
// strings, and default values are printed.

const nowUs = Date.UTC(2026, 2, 3, 14, 5, 0) * 1000;
const minuteUs = 60e6;

const process = (role) => ({role, version: '0.1.0', start_time_us: String(nowUs - 187 * minuteUs),
  now_us: String(nowUs), resident_bytes: '187400192', cpu_seconds: 412.7, open_files: 38});

const estimate = (value, half, confidence = 0.95) =>
  ({value, lower: value - half, upper: value + half, confidence});

// Counts with a mode at the `top`-th bin.
const histogram = (bounds, top, most) => ({bounds, counts: [...bounds, 0].map((_, i) =>
  String(Math.round(most * Math.exp(-((i - top) ** 2) / 4))))});

const propensityBounds = [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];
const entropyBounds = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3];

// The same waves in every run.
function wave(i, seed) {
  return Math.sin(i / 23 + seed) + 0.5 * Math.sin(i / 7.3 + 2 * seed) + 0.3 * Math.sin(i * 1.7 + seed);
}

const samples = 720;
const times = Array.from({length: samples}, (_, i) => String(nowUs - (samples - 1 - i) * 5e6));

function series(name, labels, unit, valueOf, halfOf) {
  const values = times.map((_, i) => valueOf(i));
  const bound = (sign) => halfOf ? values.map((value, i) =>
    typeof value === 'number' ? value + sign * halfOf(i) : 'NaN') : [];
  return {name, labels, unit, values, lower: bound(-1), upper: bound(1)};
}

function busyHistory() {
  const swap = 450;  // Version 7 takes over.
  const after = (i, value) => i < swap ? 'NaN' : value;
  const model = {model: 'answers'};
  return {times_us: times, series: [
    series('reward', {...model, version: '6'}, '1', (i) => 0.551 + 0.03 * wave(i, 1) / (1 + i / 60),
        (i) => 0.12 / Math.sqrt(1 + i / 8)),
    series('reward', {...model, version: '7'}, '1', (i) => after(i, 0.634 + 0.02 * wave(i, 2) / (1 + (i - swap) / 20)),
        (i) => 0.16 / Math.sqrt(1 + (i - swap) / 4)),
    series('reward', {model: 'home', version: '2'}, '1', (i) => 0.118 + 0.004 * wave(i, 3) / (1 + i / 60),
        (i) => 0.03 / Math.sqrt(1 + i / 10)),
    series('decisions_per_second', {...model, version: '6'}, '1/s', (i) => (i < swap ? 212 : 24) * (1 + 0.1 * wave(i, 4))),
    series('decisions_per_second', {...model, version: '7'}, '1/s', (i) => after(i, 190 * (1 + 0.1 * wave(i, 5)))),
    series('decisions_per_second', {model: 'home', version: '2'}, '1/s', (i) => 61 * (1 + 0.1 * wave(i, 6))),
    series('requests_per_second', {method: 'Rank'}, '1/s', (i) => 63 * (1 + 0.1 * wave(i, 6))),
    series('requests_per_second', {method: 'Select'}, '1/s', (i) => 214 * (1 + 0.1 * wave(i, 4))),
    series('requests_per_second', {method: 'ReportFeedback'}, '1/s', (i) => 31 * (1 + 0.2 * wave(i, 8))),
    series('p50_seconds', {method: 'Rank'}, 's', (i) => 0.00031 * (1 + 0.04 * wave(i, 7))),
    series('p50_seconds', {method: 'Select'}, 's', (i) => 0.00022 * (1 + 0.04 * wave(i, 9))),
    series('p99_seconds', {method: 'Rank'}, 's', (i) => 0.0021 * (1 + 0.15 * wave(i, 7))),
    series('p99_seconds', {method: 'Select'}, 's', (i) => 0.0013 * (1 + 0.2 * wave(i, 9))),
    series('refusals_per_second', {}, '1/s', (i) => i > 300 && i < 340 ? 3.2 : 0),
    series('spool_bytes', {}, 'bytes', (i) => 2.1e9 + 1.2e6 * i - 4e8 * Math.floor(i / 200)),
    series('lag_bytes', {}, 'bytes', (i) => 180000 * (1 + 0.5 * wave(i, 3)) + (i > 500 && i < 540 ? 3e6 : 0)),
    series('lag_seconds', {}, 's', (i) => 1.2 * (1 + 0.3 * wave(i, 3)) + (i > 500 && i < 540 ? 20 : 0)),
    series('pending', {}, '1', (i) => Math.round(14000 * (1 + 0.1 * wave(i, 2)))),
  ]};
}

const method = (name, ok, perSecond, scale, codes = []) => ({method: name,
  codes: [{name: 'OK', count: String(ok)}, ...codes], per_second: perSecond, p50_seconds: 0.22e-3 * scale,
  p90_seconds: 0.61e-3 * scale, p99_seconds: 1.3e-3 * scale, p999_seconds: 4.8e-3 * scale});

function version(number, more = {}) {
  return {version: String(number), learner: 'poem', created_time_us: String(nowUs - (9 - number) * 1440 * minuteUs),
    parent_version: String(number - 1), comment: '', error: '', is_loaded: false, uses: [], bytes: '0',
    is_evaluated: true, verdict: 'The lower end of the improvement is above 0: promoted.', promoted: true,
    improvement: estimate(0.061, 0.024), effective_sample_size: 18240.4, test_tuples: '96312', look: '1',
    findings: [], reward_options: '--reward_min=-1 --clamp_rewards', ...more};
}

function answersModel() {
  return {
    name: 'answers', version: '7', policy: 'softmax_selection', serving_error: '', looks: '3', error_budget_left: 0.1725,
    serving: {change: '12', pinned_version: '7', labels: [{name: 'stable', version: '6'}],
      split: {arms: [{version: '6', ranges: [{begin: 0, end: 1000}]}], salt: '00'.repeat(16)},
      shadows: [{version: '8', every: 10}], mode: 'ONLINE', explore_parts: 0, protected_versions: ['6'],
      rolled_back_versions: ['5'], time: '2026-03-03T13:42:10Z', reason: 'won the gate twice', caller: 'maria'},
    versions: [
      version(8, {uses: ['shadow'], is_loaded: true, bytes: '184320', promoted: false,
        verdict: 'The interval of the improvement contains 0: not promoted.', improvement: estimate(0.004, 0.019),
        findings: ['Half of the weight is on 31 of 96,312 tuples: a handful of decisions decides.']}),
      version(7, {uses: ['serves, pinned'], is_loaded: true, bytes: '184320', look: '2'}),
      version(6, {uses: ['arm 1000', 'label stable'], is_loaded: true, bytes: '183296'}),
      version(5, {comment: 'more hidden units'}),
      version(4, {error: 'model.pb: its checksum is not that of the manifest', is_evaluated: false, verdict: '',
        improvement: undefined}),
    ],
    history: [
      {change: '12', pinned_version: '7', labels: [], shadows: [], mode: 'ONLINE', split: {arms: [{version: '6',
        ranges: [{begin: 0, end: 1000}]}]}, time: '2026-03-03T13:42:10Z', reason: 'won the gate twice', caller: 'maria'},
      {change: '11', pinned_version: '6', labels: [], shadows: [], mode: 'ONLINE', time: '2026-03-02T09:12:44Z',
        reason: 'version 5 lost clicks on phones', caller: 'jo'},
    ],
    runs: [
      {kind: 'rollout', time_us: String(nowUs - 12 * minuteUs), seconds: 1.2, exit_status: 0, outcome: 'DONE',
        verdict: 'Version 7 waits at 90 %: it earns 0.021 more than version 6.', next_step: '', read: '/tuples',
        version: '0', last_success_us: String(nowUs - 12 * minuteUs)},
      {kind: 'train', time_us: String(nowUs - 30 * minuteUs), seconds: 41, exit_status: 3, outcome: 'NOTHING_BETTER',
        verdict: 'Not published: the validation part promises no improvement (estimate -0.004), so the test part ' +
          'was not looked at and can still be asked.', next_step: 'Collect more decisions, explore more, or give the ' +
          'model other features.', read: '/tuples', version: '0', last_success_us: String(nowUs - 30 * minuteUs)},
    ],
    earlier_runs: [
      {kind: 'train', time_us: String(nowUs - 90 * minuteUs), seconds: 40, exit_status: 4, outcome: 'NOT_YET',
        verdict: 'The test part was not looked at: 1,204 tuples are newer than look 3, and the next look takes 4,000.',
        next_step: '', read: '/tuples', version: '0', last_success_us: String(nowUs - 150 * minuteUs)},
      {kind: 'train', time_us: String(nowUs - 150 * minuteUs), seconds: 44, exit_status: 0, outcome: 'DONE',
        verdict: 'Published version 7.', next_step: '', read: '/tuples', version: '7',
        last_success_us: String(nowUs - 150 * minuteUs)},
    ],
    drift: [
      {version: '7', kind: 'column', name: 'price', index: 0.31},
      {version: '7', kind: 'column', name: 'country', index: 0.14},
      {version: '7', kind: 'feature', name: 'bm25', index: 0.02},
    ],
    traffic: [
      {version: '7', decisions: '512338', abstentions: '24120', decisions_per_second: 191.4,
        propensities: histogram(propensityBounds, 7, 110000), entropies: histogram(entropyBounds, 4, 160000)},
      {version: '6', decisions: '2290467', abstentions: '151200', decisions_per_second: 21.2,
        propensities: histogram(propensityBounds, 5, 490000), entropies: histogram(entropyBounds, 5, 710000)},
    ],
  };
}

function homeModel(name = 'home') {
  return {name, version: '2', policy: 'plackett_luce', serving_error: '', looks: '1',
    serving: {change: '0', pinned_version: '0', labels: [], shadows: [], mode: 'ONLINE', explore_parts: 0,
      protected_versions: [], rolled_back_versions: [], time: '', reason: '', caller: ''},
    versions: [version(2, {uses: ['serves'], is_loaded: true, bytes: '4096'}), version(1, {is_evaluated: false,
      parent_version: '0', learner: 'ranksvm', improvement: undefined, verdict: ''})],
    history: [], drift: [], traffic: [{version: '2', decisions: '671004', abstentions: '0', decisions_per_second: 61.3,
      propensities: histogram(propensityBounds, 3, 200000), entropies: histogram(entropyBounds, 6, 200000)}]};
}

const worth = (model, number, value, half, tuples, more = {}) => ({model, version: String(number),
  tuples: String(tuples), with_feedback: String(Math.round(tuples * 0.41)), abstentions: String(Math.round(tuples * 0.06)),
  reward: estimate(value, half), effective_sample_size: tuples * 1.31,
  propensities: histogram(propensityBounds, 6, 90000), mean_entropy: 1.12, shared: '0', ...more});

// A server of two models under load, with its sidecar.
export function busy() {
  return {
    process: process('server'),
    server: {
      ready: true, why_not_ready: '', needs_token: false, has_control: true,
      models: [answersModel(), homeModel()],
      methods: [
        method('Select', 2802805, 213.9, 1, [{name: 'INVALID_ARGUMENT', count: '412'},
          {name: 'RESOURCE_EXHAUSTED', count: '96'}]),
        method('Rank', 671004, 61.3, 1.6), method('ReportFeedback', 390211, 31.2, 0.6),
        method('ReportShown', 0, 0, 0), {method: 'Label', codes: [], per_second: 0},
      ],
      refusals: [{name: 'INVALID_ARGUMENT', count: '412'}, {name: 'overload: queue_full', count: '96'}],
      spool: {dir: '/var/lib/sortition/spool', state: 'ok', bytes: '2147483648', max_bytes: '21474836480',
        disk_free_bytes: '81604378624', records: '3864020', lost_records: '0', refused: '0'},
      shadow_queue_bytes: '20480',
    },
    sidecar: {
      worths: [worth('answers', 7, 0.6343, 0.0061, 301244), worth('answers', 6, 0.5517, 0.0033, 1811302),
        worth('home', 2, 0.1182, 0.0024, 488120)],
      pending: '14210', lag_bytes: '184320', watermark_us: String(nowUs - 2e6), tuples: '2600666', censored: '5120',
      feedback: '1066273', late: '811', unmatched: '12',
      invalid_feedback: [{name: 'no_such_candidate', count: '17'}], mean_reward_wait_seconds: 41.3, spools: 1, tuple_dir: '/var/lib/sortition/tuples',
      disk_free_bytes: '81604378624', problem: '', since_us: String(nowUs - 187 * minuteUs)},
    sidecar_problem: '',
    warnings: [
      {time_us: String(nowUs - 4 * minuteUs), level: 'warning', message: 'a version was refused',
        details: 'model=answers version=4 reason="model.pb: its checksum is not that of the manifest"'},
      {time_us: String(nowUs - 52 * minuteUs), level: 'warning', message: 'requests are refused: overload',
        details: 'reason=queue_full refused=96'}],
    history: busyHistory(),
  };
}

// A server that has just started: no model, no decision, no sidecar.
export function fresh() {
  const status = busy();
  return {...status, server: {...status.server, models: [], methods: [], refusals: [], shadow_queue_bytes: '0',
    spool: {...status.server.spool, bytes: '0', records: '0'}}, sidecar: undefined, warnings: [],
  process: {...status.process, start_time_us: String(nowUs - 20e6)}, history: {times_us: [], series: []}};
}

// The same after its first decision, which made the default model.
export function firstDecision() {
  const status = fresh();
  return {...status, server: {...status.server, methods: [method('Rank', 1, 0, 1)], models: [{name: 'default',
    version: '0', policy: 'uniform', serving: {change: '0', pinned_version: '0', mode: 'ONLINE'}, serving_error: '',
    versions: [], history: [], drift: [], looks: '0', traffic: [{version: '0', decisions: '1', abstentions: '0',
      decisions_per_second: 0.01}]}]}};
}

export function failedLog() {
  const status = busy();
  return {...status, server: {...status.server, ready: false, why_not_ready: 'the log takes no records: io_error',
    spool: {...status.server.spool, state: 'io_error', lost_records: '214', refused: '5120'}},
  sidecar: undefined, sidecar_problem: '127.0.0.1:8504: Connection refused',
  warnings: [{time_us: String(nowUs - 3e6), level: 'error',
    message: 'spool cannot be written: records are refused or lost', details: 'error="Input/output error"'},
  ...status.warnings]};
}

export const hostileText = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>` +
    `\u202egnp.exe${'x'.repeat(300)}`;

// Every text that somebody else may choose is hostile.
export function hostile() {
  const status = busy();
  const [model, other] = status.server.models;
  model.name = hostileText;
  for (const each of model.versions) {
    Object.assign(each, {comment: hostileText, learner: hostileText, verdict: hostileText, findings: [hostileText]});
  }
  for (const run of [...model.runs, ...model.earlier_runs]) Object.assign(run, {verdict: hostileText, next_step: hostileText});
  model.serving.labels[0].name = hostileText;
  model.serving_error = hostileText;
  for (const change of model.history) Object.assign(change, {reason: hostileText, caller: hostileText});
  for (const drift of model.drift) drift.name = hostileText;
  for (const {labels} of status.history.series) {
    if (labels.model === 'answers') labels.model = hostileText;
    if (labels.method) labels.method = hostileText + labels.method;
  }
  for (const each of status.sidecar.worths) each.model = hostileText;
  status.sidecar.problem = hostileText;
  for (const warning of status.warnings) Object.assign(warning, {message: hostileText, details: hostileText});
  status.server.models = [model, other];
  return status;
}

export function twentyModels() {
  const status = busy();
  const models = Array.from({length: 19}, (_, i) => homeModel(`shop-${i + 1}`));
  return {...status, server: {...status.server, models: [answersModel(), ...models],
    further_models: '37'}};
}

// What a sidecar says of itself.
export function ofSidecar() {
  const {sidecar, history, warnings} = busy();
  const own = history.series.filter(({name}) => ['reward', 'pending', 'lag_bytes', 'lag_seconds'].includes(name));
  return {process: process('sidecar'), sidecar, sidecar_problem: '', warnings, history: {...history, series: own}};
}
