// Error messages for search queries. The server parses queries; the page translates its errors.

import type { TextKey } from '../i18n/format';

/** Returns whether a text contains query syntax, so that the server may refuse it. Plain words are always valid. */
export function mayBeWrong(text: string): boolean {
  return /["“”„「『«()（）|｜:：]|(?:^|\s)OR(?:\s|$)|(?:^|\s)[-－−]/.test(text) || text.length > 900;
}

/** A query error as a text key with its values. */
export interface Wrong {
  key: TextKey;
  values: Record<string, string>;
}

const WRONG: [RegExp, TextKey][] = [
  [/^there is nothing to search for/, 'query.empty'],
  [/^a query has at most (?<n>\d+) characters/, 'query.length'],
  [/^a query has at most (?<n>\d+) words/, 'query.terms'],
  [/^parentheses lie at most (?<n>\d+) deep/, 'query.depth'],
  [/^one word stands in a query at most (?<n>\d+) times/, 'query.repeats'],
  [/^this quotation mark is not closed/, 'query.quote'],
  [/^this parenthesis is not closed/, 'query.open'],
  [/^this parenthesis was not opened/, 'query.close'],
  [/^OR stands between two terms/, 'query.or'],
  [/^(?<key>[\w.]+): needs a value/, 'query.missing'],
  [/^(?<key>before|after): takes (?:a|the) date.*?such as (?<expected>.*?)(?:, at character \d+)?$/, 'query.date'],
  [/^(?<key>[\w.]+): takes (?<expected>.*?)(?:, at character \d+)?$/, 'query.value'],
];

/** Maps an English error of the server to a translated text. An unknown error is shown as the server wrote it. */
export function wrongOf(detail: string): Wrong {
  for (const [pattern, key] of WRONG) {
    const found = pattern.exec(detail);
    if (found) return { key, values: { ...found.groups } };
  }
  return { key: 'query.other', values: { detail: detail.replace(/, at character \d+$/, '') } };
}
