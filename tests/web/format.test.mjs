// Numbers and times as people read them.
import assert from 'node:assert/strict';
import {test} from 'node:test';
import * as format from '../../web/page/format.js';

// Units stand behind a space that does not break.
const plain = (text) => text.replaceAll('\u00a0', ' ');

test('numbers of JSON may be strings', () => {
  assert.equal(format.toNumber('18446744073709551615'), 18446744073709551615);
  assert.ok(Number.isNaN(format.toNumber('NaN')));
  assert.ok(Number.isNaN(format.toNumber(undefined)));
  assert.ok(Number.isNaN(format.toNumber('')));
  assert.equal(format.toNumber('Infinity'), Infinity);
  assert.equal(format.toCount(undefined), 0);
  assert.equal(format.toCount('12'), 12);
});

test('numbers have separators, a true minus and three significant digits', () => {
  assert.equal(format.decimal(1234567.891, 2), '1,234,567.89');
  assert.equal(format.decimal(-0.5, 1), '−0.5');
  assert.equal(format.decimal(-0.0001, 2), '0.00');  // Not "−0.00".
  assert.equal(format.decimal(NaN, 2), '–');
  assert.equal(format.short(0.123456), '0.123');
  assert.equal(format.short(12.3456), '12.3');
  assert.equal(format.short(1234.56), '1,235');
  assert.equal(format.short(0), '0');
  assert.equal(format.short(9.999), '10.0');
  assert.equal(format.short(0.0000123), '1.2e−5');
});

test('counts are whole until ten million', () => {
  assert.equal(format.count(0), '0');
  assert.equal(format.count(9999999), '9,999,999');
  assert.equal(plain(format.count(12345678)), '12.3 million');
  assert.equal(plain(format.count(12345678901)), '12.3 billion');
});

test('shares never round to none or all of it', () => {
  assert.equal(plain(format.share(0)), '0 %');
  assert.equal(plain(format.share(1)), '100 %');
  assert.equal(plain(format.share(0.00001)), '< 0.01 %');
  assert.equal(plain(format.share(0.99999)), '> 99.99 %');
  assert.equal(plain(format.share(0.9997)), '99.97 %');
  assert.equal(plain(format.share(0.0052)), '0.52 %');
  assert.equal(plain(format.share(0.1234)), '12.3 %');
  assert.equal(plain(format.places(1050)), '10.5 %');
});

test('sizes and durations take the unit that fits', () => {
  assert.equal(plain(format.bytes(1023)), '1,023 bytes');
  assert.equal(plain(format.bytes(1024)), '1.00 KiB');
  assert.equal(plain(format.bytes(1024 ** 2 - 1)), '1.00 MiB');
  assert.equal(plain(format.bytes(20 * 1024 ** 3)), '20.0 GiB');
  assert.equal(plain(format.seconds(0.00000213)), '2.13 µs');
  assert.equal(plain(format.seconds(0.00131)), '1.31 ms');
  assert.equal(plain(format.seconds(0.09999)), '100 ms');
  assert.equal(plain(format.seconds(0.9999)), '1.00 s');
  assert.equal(plain(format.seconds(12.34)), '12.3 s');
  assert.equal(plain(format.seconds(7260)), '2.02 h');
  assert.equal(format.rate(306.4), '306/s');
  assert.equal(format.formatterOf('bytes'), format.bytes);
  assert.equal(format.formatterOf('1'), format.short);
});

test('ticks lose zeros that say nothing, and no others', () => {
  assert.equal(format.trimmed('0.500'), '0.5');
  assert.equal(format.trimmed('60.0/s'), '60/s');
  assert.equal(format.trimmed('1.50 ms'), '1.5 ms');
  assert.equal(format.trimmed('10,000'), '10,000');
  assert.equal(format.trimmed('0.105'), '0.105');
});

test('an interval decides how many decimals are shown', () => {
  // Width 0.012: its first digit is at the second decimal, its second at the third.
  assert.equal(format.decimalsOf(0.012), 3);
  assert.equal(format.decimalsOf(0.5), 2);
  assert.equal(format.decimalsOf(40), 0);
  assert.equal(format.decimalsOf(NaN), 3);
  const given = format.toEstimate({value: 0.6343, lower: 0.6283, upper: 0.6403, confidence: 0.95});
  assert.equal(format.interval(given, format.decimalsOfAll([given])), '[0.628, 0.640]');
});

test('bounds of confidence 0 are no interval', () => {
  const given = format.toEstimate({value: 1, lower: 1, upper: 1, confidence: 0});
  assert.equal(given.value, 1);
  assert.equal(format.interval(given, 2), '');
  assert.equal(format.toEstimate({value: 'NaN', confidence: 0.95}), null);
  assert.equal(format.toEstimate(undefined), null);
});

test('times are relative, and absolute where one asks', () => {
  const now = 1_800_000_000e6;
  assert.equal(plain(format.ago(now - 0.4e6, now)), 'just now');
  assert.equal(plain(format.ago(now - 1e6, now)), '1 second ago');
  assert.equal(plain(format.ago(now - 59.9e6, now)), '59 seconds ago');
  assert.equal(plain(format.ago(now - 60e6, now)), '1 minute ago');
  assert.equal(plain(format.ago(now - 7200e6, now)), '2 hours ago');
  assert.equal(plain(format.ago(now - 86400e6 * 400, now)), '400 days ago');
  assert.equal(format.ago(0, now), 'never');
  // A clock that was set back is no news from the future.
  assert.equal(format.ago(now + 5e6, now), 'just now');
  const time = new Date(2026, 2, 3, 14, 5, 9).getTime() * 1000;
  assert.equal(format.clock(time), '14:05:09');
  assert.match(format.absolute(time), /^2026-03-03 14:05:09 UTC[+−]\d\d:\d\d$/);
});
