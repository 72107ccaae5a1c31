// The query language as far as the page must know it: the server reads queries, the page shows what it says of them.

import type { TextKey } from '../i18n/format';

/** Says whether the server may refuse a text once it is finished; plain words are never wrong. */
export function mayBeWrong(text: string): boolean {
  return /["“”„「『«()（）|｜:：]|(?:^|\s)OR(?:\s|$)|(?:^|\s)[-－−]/.test(text) || text.length > 900;
}

/** What is wrong with a query, as a text of the page. */
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

/** Finds the text of the page for what the server says in English; a sentence that is new to the page stays as it is. */
export function wrongOf(detail: string): Wrong {
  for (const [pattern, key] of WRONG) {
    const found = pattern.exec(detail);
    if (found) return { key, values: { ...found.groups } };
  }
  return { key: 'query.other', values: { detail: detail.replace(/, at character \d+$/, '') } };
}
