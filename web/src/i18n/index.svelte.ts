// The language of the page: that of the browser unless one is chosen.

import { readPreference, savePreference } from '../state/preferences';
import { en } from './en';
import { format, localeFor, type Locale, type TextKey, type Values } from './format';
import { zh } from './zh';

export { LOCALES, type Locale, type TextKey } from './format';

class Language {
  locale: Locale = $state(localeFor(readPreference('locale') ?? navigator.language));

  choose(locale: Locale): void {
    this.locale = locale;
    savePreference('locale', locale);
  }
}

export const language = new Language();

/** Returns a text in the language of the page. */
export function t(key: TextKey, values: Values = {}): string {
  return format(language.locale === 'zh-CN' ? zh[key] : en[key], values, language.locale);
}
