import { expect, test } from 'vitest';
import { ago, dateOf, groupName, groupOf, microsOf, stamp } from './dates';

const now = new Date(2026, 10, 16, 9, 30);
const group = (...parts: [number, number, number, number?]): string => groupName(groupOf(new Date(...parts), now));

test('days belong to groups by the calendar, not by hours', () => {
  expect(group(2026, 10, 16, 0)).toBe('today');
  expect(group(2026, 10, 15, 23)).toBe('yesterday');
  expect(group(2026, 10, 14)).toBe('week');
  expect(group(2026, 10, 9)).toBe('week');
  expect(group(2026, 10, 8)).toBe('month30');
  expect(group(2026, 9, 17)).toBe('month30');
  expect(group(2026, 9, 16)).toBe('2026-9');
  expect(group(2025, 9, 16)).toBe('2025-9');
});

test('what lies in the future is today', () => {
  expect(group(2026, 10, 20)).toBe('today');
});

test('only months of other years are named with the year', () => {
  expect(groupOf(new Date(2026, 1, 1), now).key).toBe('month');
  expect(groupOf(new Date(2025, 1, 1), now).key).toBe('monthOfYear');
});

test('microseconds are not lost', () => {
  expect(microsOf('2026-11-16T02:11:04.50471Z') - microsOf('2026-11-16T02:11:04.504709Z')).toBe(1);
  expect(microsOf('2026-11-16T02:11:04Z')).toBe(Date.parse('2026-11-16T02:11:04Z') * 1000);
  expect(dateOf('2023-11-14T22:13:20Z').getTime()).toBe(1_700_000_000_000);
});

test('how long ago is said in the largest unit that fits', () => {
  expect(ago(new Date(2026, 10, 16, 9, 25), now, 'en')).toBe('5m ago');
  expect(ago(new Date(2026, 10, 16, 6, 30), now, 'en')).toBe('3h ago');
  expect(ago(new Date(2026, 10, 14, 6, 30), now, 'zh-CN')).toBe('前天');
  expect(ago(new Date(2026, 8, 1), now, 'en')).toBe('Sep 1');
  expect(ago(new Date(2024, 8, 1), now, 'zh-CN')).toBe('2024年9月1日');
});

test('a new conversation is named by its minute', () => {
  expect(stamp(new Date(2024, 11, 5, 23, 10))).toBe('12-05 23:10');
});
