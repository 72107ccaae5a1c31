// Selects and formats texts.

import { en } from './en';

/** A text key. */
export type TextKey = keyof typeof en;

/** A text, or one for each plural form of its language. */
export type Text = string | { [form in Intl.LDMLPluralRule]?: string } & { other: string };

/** All texts of a language. */
export type Texts = { [key in TextKey]: Text };

/** Values for the placeholders of a text. */
export type Values = Record<string, string | number>;

export const LOCALES = ['en', 'zh-CN'] as const;
export type Locale = (typeof LOCALES)[number];

/** Returns the supported locale for a language tag. */
export function localeFor(wanted: string | null | undefined): Locale {
  return wanted?.toLowerCase().startsWith('zh') === true ? 'zh-CN' : 'en';
}

/** Formats a text. `n` selects the plural form and is formatted in the locale. */
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
