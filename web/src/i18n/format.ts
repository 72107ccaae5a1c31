// How a text is chosen and filled. Pure, so that tests need no page.

import { en } from './en';

/** A key of a text. */
export type TextKey = keyof typeof en;

/** A text, or one for each plural form of its language. */
export type Text = string | { [form in Intl.LDMLPluralRule]?: string } & { other: string };

/** All texts of a language. */
export type Texts = { [key in TextKey]: Text };

/** What stands in the braces of a text. */
export type Values = Record<string, string | number>;

export const LOCALES = ['en', 'zh-CN'] as const;
export type Locale = (typeof LOCALES)[number];

/** Picks the language that the page speaks for a language that people ask for. */
export function localeFor(wanted: string | null | undefined): Locale {
  return wanted?.toLowerCase().startsWith('zh') === true ? 'zh-CN' : 'en';
}

/** Fills a text; `n` chooses the plural form and is written as the language writes numbers. */
export function format(text: Text, values: Values, locale: Locale): string {
  const count = values['n'];
  const chosen =
    typeof text === 'string'
      ? text
      : (text[new Intl.PluralRules(locale).select(typeof count === 'number' ? count : 0)] ?? text.other);
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? new Intl.NumberFormat(locale).format(value) : value;
  });
}
