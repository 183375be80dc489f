// The arithmetic of charts: scales, ticks, paths.

// Returns a function from [low, high] to [from, to].
export function scale(low, high, from, to) {
  const factor = high === low ? 0 : (to - from) / (high - low);
  return (value) => from + (value - low) * factor;
}

// Returns about `wanted` round numbers in [low, high], ascending.
export function ticks(low, high, wanted) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  // Numbers that lie closer than that cannot be told apart, nor counted up to.
  if (step < 4 * Number.EPSILON * Math.max(Math.abs(low), Math.abs(high))) return [low, high];
  const result = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) {
    // Without the rounding, 3 * 0.1 would be 0.30000000000000004.
    result.push(Number((i * step).toPrecision(12)));
  }
  return result;
}

// Returns round sizes in bytes: multiples of the unit in which the largest one is
// written, and none within a byte.
export function byteTicks(low, high, wanted) {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(high) / 10));
  return ticks(low / unit, high / unit, wanted).filter((each) => unit > 1 || Number.isInteger(each))
      .map((each) => each * unit);
}

// Returns round times of the reader's clock in [from, to], microseconds, at most
// `most`.
export function timeTicks(from, to, most) {
  const minute = 60e6;
  const offset = new Date(from / 1000).getTimezoneOffset() * minute;
  const day = 1440 * minute;
  const step = [1, 2, 5, 10, 15, 20, 30, 60, 120, 360].map((minutes) => minutes * minute)
      .find((size) => (to - from) / size <= most) ?? Math.ceil((to - from) / most / day) * day;
  const result = [];
  for (let i = Math.ceil((from - offset) / step); i * step + offset <= to; ++i) {
    result.push(i * step + offset);
  }
  return result;
}

// Returns the range that a chart shows of these numbers: all that are finite,
// with 0 if `withZero`, and a margin.
export function range(numbers, withZero) {
  let low = withZero ? 0 : Infinity;
  let high = withZero ? 0 : -Infinity;
  for (const number of numbers) {
    if (!Number.isFinite(number)) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  if (low > high) return [0, 1];
  if (low === high) {
    const margin = Math.abs(low) || 1;
    return withZero && low === 0 ? [0, 1] : [low - margin / 10, high + margin / 10];
  }
  const margin = (high - low) * 0.05;
  return [withZero && low === 0 ? 0 : low - margin, withZero && high === 0 ? 0 : high + margin];
}

// Returns the range of lines with bands: all of the lines, and of the bands what
// is near. A band that is wide at first does not squeeze the lines.
export function rangeOfBands(series, withZero) {
  const all = series.flatMap(({values}) => values);
  const [low, high] = range(all, withZero);
  const last = series.map(({lower, upper}) => (upper?.findLast(Number.isFinite) -
      lower?.findLast(Number.isFinite)) || 0);
  const margin = Math.max(high - low, ...last) / 2;
  const near = series.flatMap(({lower, upper}) => [...lower ?? [], ...upper ?? []])
      .filter(Number.isFinite)
      .map((bound) => Math.min(high + margin, Math.max(low - margin, bound)));
  return range([...all, ...near], withZero);
}

const at = (number) => String(Math.round(number * 10) / 10);

// Returns the path of a line; it has gaps where a value is not finite. A value
// alone between gaps is a dot.
export function linePath(xs, ys) {
  let path = '';
  let isOpen = false;
  xs.forEach((x, i) => {
    if (!Number.isFinite(ys[i])) {
      isOpen = false;
      return;
    }
    path += `${isOpen ? 'L' : 'M'}${at(x)} ${at(ys[i])}`;
    if (!isOpen && !Number.isFinite(ys[i + 1])) path += 'h0';
    isOpen = true;
  });
  return path;
}

// Returns the path of the area between two lines, with the same gaps.
export function bandPath(xs, lower, upper) {
  let path = '';
  let start = 0;
  for (let i = 0; i <= xs.length; ++i) {
    if (i < xs.length && Number.isFinite(lower[i]) && Number.isFinite(upper[i])) continue;
    if (i - start > 1) {
      const forth = [];
      const back = [];
      for (let k = start; k < i; ++k) {
        forth.push(`${at(xs[k])} ${at(upper[k])}`);
        back.unshift(`${at(xs[k])} ${at(lower[k])}`);
      }
      path += `M${forth.concat(back).join('L')}Z`;
    }
    start = i + 1;
  }
  return path;
}

// Returns places for labels that would rather be at `wanted`: in the same order,
// at least `gap` apart, as far as that is possible within [low, high].
export function spread(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const places = [...wanted];
  let next = low;
  for (const i of order) {
    places[i] = Math.max(places[i], next);
    next = places[i] + gap;
  }
  next = high;
  for (const i of order.reverse()) {
    places[i] = Math.min(places[i], next);
    next = places[i] - gap;
  }
  return places;
}

// Returns the index of the ascending number that is nearest to `wanted`; -1 if
// there is none.
export function nearest(ascending, wanted) {
  let low = 0;
  let high = ascending.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (wanted - ascending[middle] > ascending[middle + 1] - wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return high;
}
