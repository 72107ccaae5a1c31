// Timestamps of the server, and the date groups of the conversation list.

import type { Moment } from '../api';

/** A group of the list. `month` and `year` have a date. */
export type DateGroup =
  | { key: 'today' | 'yesterday' | 'week' | 'month30' }
  | { key: 'month' | 'monthOfYear'; month: Date };

/** Parses a timestamp to microseconds since 1970; `Date` has milliseconds only. */
export function microsOf(moment: Moment): number {
  const milliseconds = Date.parse(moment);
  const fraction = /\.(\d+)/.exec(moment)?.[1] ?? '';
  return milliseconds * 1000 + Number(fraction.padEnd(6, '0').slice(3, 6));
}

/** Parses a timestamp to a `Date`. */
export function dateOf(moment: Moment): Date {
  return new Date(moment);
}

/** Returns the group of a date in the local time zone. */
export function groupOf(date: Date, now: Date): DateGroup {
  const days = dayNumber(now) - dayNumber(date);
  if (days <= 0) return { key: 'today' };
  if (days === 1) return { key: 'yesterday' };
  if (days <= 7) return { key: 'week' };
  if (days <= 30) return { key: 'month30' };
  const month = new Date(date.getFullYear(), date.getMonth(), 1);
  return { key: date.getFullYear() === now.getFullYear() ? 'month' : 'monthOfYear', month };
}

/** Returns a key that is equal for equal groups. */
export function groupName(group: DateGroup): string {
  return 'month' in group ? `${group.month.getFullYear()}-${group.month.getMonth()}` : group.key;
}

/** Formats the time since a date in the largest unit that fits. */
export function ago(date: Date, now: Date, locale: string): string {
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'narrow' });
  const seconds = Math.round((date.getTime() - now.getTime()) / 1000);
  const past = Math.max(0, -seconds);
  if (past < 60) return format.format(0, 'second');
  if (past < 3600) return format.format(-Math.floor(past / 60), 'minute');
  if (past < 86_400) return format.format(-Math.floor(past / 3600), 'hour');
  const days = dayNumber(now) - dayNumber(date);
  if (days < 7) return format.format(-Math.max(1, days), 'day');
  const year = date.getFullYear() === now.getFullYear() ? undefined : 'numeric';
  return new Intl.DateTimeFormat(locale, { year, month: 'short', day: 'numeric' }).format(date);
}

/** Formats month, day, hour and minute for the name of a new conversation. */
export function stamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Counts calendar days, so that a day of 23 or 25 hours is one day. */
function dayNumber(date: Date): number {
  return Math.round(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000);
}
