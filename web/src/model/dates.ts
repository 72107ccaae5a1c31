// Moments of the server, and the groups in which people look for a conversation.

import type { Moment } from '../api';

/** A group of the list: the key says which, a date belongs to `month` and `year`. */
export type DateGroup =
  | { key: 'today' | 'yesterday' | 'week' | 'month30' }
  | { key: 'month' | 'monthOfYear'; month: Date };

/** Reads a moment as microseconds since 1970; JavaScript's own dates lose the last three digits. */
export function microsOf(moment: Moment): number {
  const milliseconds = Date.parse(moment);
  const fraction = /\.(\d+)/.exec(moment)?.[1] ?? '';
  return milliseconds * 1000 + Number(fraction.padEnd(6, '0').slice(3, 6));
}

/** Reads a moment as a date. */
export function dateOf(moment: Moment): Date {
  return new Date(moment);
}

/** Says in which group a date stands, by the calendar of the reader. */
export function groupOf(date: Date, now: Date): DateGroup {
  const days = dayNumber(now) - dayNumber(date);
  if (days <= 0) return { key: 'today' };
  if (days === 1) return { key: 'yesterday' };
  if (days <= 7) return { key: 'week' };
  if (days <= 30) return { key: 'month30' };
  const month = new Date(date.getFullYear(), date.getMonth(), 1);
  return { key: date.getFullYear() === now.getFullYear() ? 'month' : 'monthOfYear', month };
}

/** A text that two dates share exactly when they are in the same group. */
export function groupName(group: DateGroup): string {
  return 'month' in group ? `${group.month.getFullYear()}-${group.month.getMonth()}` : group.key;
}

/** Says how long ago something was, in the largest unit that fits. */
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

/** Writes month, day, hour and minute as the name of a new conversation has them. */
export function stamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** Days of the calendar, so that a day of 23 or 25 hours is one day. */
function dayNumber(date: Date): number {
  return Math.round(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / 86_400_000);
}
