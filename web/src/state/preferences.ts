// Preferences of this browser. A browser that keeps nothing still works.

type Name = 'theme' | 'locale' | 'last';

/** Returns what was kept. */
export function readPreference(name: Name): string | null {
  try {
    return localStorage.getItem(`manent.${name}`);
  } catch {
    return null;
  }
}

/** Keeps a preference, or forgets it. */
export function savePreference(name: Name, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`manent.${name}`);
    else localStorage.setItem(`manent.${name}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
