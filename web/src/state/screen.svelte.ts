// Theme, screen width and current time.

import { readPreference, savePreference } from './preferences';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

class Screen {
  theme: Theme = $state(themeFor(readPreference('theme')));
  /** The screen is narrow: the sidebar is a drawer. */
  narrow = $state(false);
  /** Updated once a minute, for relative times. */
  now = $state(new Date());

  constructor() {
    const narrow = matchMedia('(max-width: 767px)');
    this.narrow = narrow.matches;
    narrow.addEventListener('change', () => (this.narrow = narrow.matches));
    setInterval(() => (this.now = new Date()), 60_000);
  }

  choose(theme: Theme): void {
    this.theme = theme;
    savePreference('theme', theme === 'system' ? null : theme);
    if (theme === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }
}

export const screen = new Screen();

function themeFor(word: string | null): Theme {
  return word === 'light' || word === 'dark' ? word : 'system';
}
