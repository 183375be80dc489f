// Numbers and times as people read them. Between a number and its unit stands a
// space that does not break.

const space = '\u00a0';
const unknown = '–';

// Returns the number of a JSON value: 64-bit numbers and "NaN" are strings.
// What is missing is NaN.
export function toNumber(value) {
  return value === undefined || value === null || value === '' ? NaN : Number(value);
}

// Returns the number of a count: what is missing is 0.
export function toCount(value) {
  return toNumber(value) || 0;
}

// Returns `value` with so many decimals: "1,234.50".
export function decimal(value, decimals) {
  if (!Number.isFinite(value)) return unknown;
  const text = value.toLocaleString('en-US',
      {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
  return text.replace('-', '−').replace(/^−([0.,]*)$/, '$1');
}

// Returns `value` with three significant digits: "0.123", "12.3", "1,234".
export function short(value) {
  if (!Number.isFinite(value)) return unknown;
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size < 1e-4) return value.toExponential(1).replaceAll('-', '−');
  return decimal(value, Math.max(0, 2 - Math.floor(Math.log10(Number(size.toPrecision(3))))));
}

// Returns a formatted number without zeros that say nothing: "0.500 ms" is
// "0.5 ms". For ticks, which are round.
export function trimmed(text) {
  return text.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');
}

// Returns a count: "12,345", from ten million on "12.3 million".
export function count(value) {
  if (!Number.isFinite(value)) return unknown;
  if (value >= 1e10) return `${short(value / 1e9)}${space}billion`;
  if (value >= 1e7) return `${short(value / 1e6)}${space}million`;
  if (value > 0 && value < 1) return short(value);
  return decimal(value, 0);
}

// Returns a share of 1 in percent: "12.3 %"; what is tiny is not 0.
export function share(value) {
  if (!Number.isFinite(value)) return unknown;
  const percent = 100 * value;
  if (percent > 0 && percent < 0.01) return `<${space}0.01${space}%`;
  if (percent > 99.99 && percent < 100) return `>${space}99.99${space}%`;
  const isFine = percent !== 0 && (Math.abs(percent) < 1 || (percent > 99.9 && percent < 100));
  const decimals = isFine ? 2 : percent % 1 === 0 ? 0 : 1;
  return `${decimal(percent, decimals)}${space}%`;
}

// Returns places of 10,000 as a share: 1,050 is "10.5 %".
export function places(parts) {
  return share(parts / 10000);
}

export function bytes(value) {
  if (!Number.isFinite(value)) return unknown;
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const size = Math.abs(value);
  // What is rounded to 1,024 KiB is 1 MiB.
  const step = size < 1024 ? 0 : Math.min(5, Math.floor(Math.log2(size * (1 + 1 / 2047)) / 10));
  const scaled = value / 1024 ** step;
  return `${step === 0 ? decimal(scaled, 0) : short(scaled)}${space}${units[step]}`;
}

// Returns a duration: "0.85 ms", "12.3 s", "3.50 h".
export function seconds(value) {
  if (!Number.isFinite(value)) return unknown;
  const size = Math.abs(value);
  if (size === 0) return `0${space}s`;
  if (size < 1e-4) return `${short(value * 1e6)}${space}µs`;
  if (size < 0.9995) return `${short(value * 1e3)}${space}ms`;
  if (size < 120) return `${short(value)}${space}s`;
  if (size < 7200) return `${short(value / 60)}${space}min`;
  if (size < 172800) return `${short(value / 3600)}${space}h`;
  return `${short(value / 86400)}${space}d`;
}

export function rate(value) {
  if (!Number.isFinite(value)) return unknown;
  return `${value > 0 && value < 0.1 ? decimal(value, 3) : short(value)}/s`;
}

// Returns the formatter of a series by its unit in the status.
export function formatterOf(unit) {
  return {s: seconds, bytes, '1/s': rate}[unit] ?? short;
}

// Returns so many decimals that an interval of this width shows two digits.
export function decimalsOf(width) {
  if (!(width > 0) || !Number.isFinite(width)) return 3;
  return Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(width))));
}

// Returns an estimate of the status as numbers, or null if it is not known.
// Without an interval the bounds are NaN.
export function toEstimate(given) {
  const value = toNumber(given?.value);
  if (!Number.isFinite(value)) return null;
  const hasInterval = toNumber(given.confidence) > 0;
  return {value, confidence: toNumber(given.confidence),
    lower: hasInterval ? toNumber(given.lower) : NaN, upper: hasInterval ? toNumber(given.upper) : NaN};
}

// Returns so many decimals that all of these estimates show two digits of the
// widths of their intervals.
export function decimalsOfAll(estimates) {
  return Math.max(0, ...estimates.filter(Boolean).map(({lower, upper}) => decimalsOf(upper - lower)));
}

// Returns the interval of an estimate: "[0.61, 0.65]"; empty without one.
export function interval({lower, upper}, decimals) {
  return Number.isFinite(lower) && Number.isFinite(upper) ?
    `[${decimal(lower, decimals)}, ${decimal(upper, decimals)}]` : '';
}

const steps = [[60, 1, 'second'], [3600, 60, 'minute'], [86400, 3600, 'hour'],
  [Infinity, 86400, 'day']];

// Returns how long it takes in one unit: "1 minute", "3 hours".
export function duration(inSeconds) {
  const whole = Math.max(0, Math.floor(inSeconds));
  const [, size, name] = steps.find(([end]) => whole < end);
  const number = Math.floor(whole / size);
  return `${decimal(number, 0)}${space}${name}${number === 1 ? '' : 's'}`;
}

// Returns how long before `nowUs` something was, both in microseconds.
export function ago(timeUs, nowUs) {
  if (!(timeUs > 0)) return 'never';
  const past = (nowUs - timeUs) / 1e6;
  return past < 1 ? 'just now' : `${duration(past)} ago`;
}

const two = (number) => String(number).padStart(2, '0');

// Returns the time of day where the reader is: "14:05:09".
export function clock(timeUs) {
  const date = new Date(timeUs / 1000);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':');
}

// Returns date and time where the reader is, with the offset from UTC.
export function absolute(timeUs) {
  if (!(timeUs > 0)) return '';
  const date = new Date(timeUs / 1000);
  const offset = -date.getTimezoneOffset();
  const hours = two(Math.floor(Math.abs(offset) / 60));
  const zone = `UTC${offset < 0 ? '−' : '+'}${hours}:${two(Math.abs(offset) % 60)}`;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
      `${clock(timeUs)} ${zone}`;
}
