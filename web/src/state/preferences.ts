// Preferences in local storage. The page works without storage.

type Name = 'theme' | 'locale' | 'last';

/** Returns a preference. */
export function readPreference(name: Name): string | null {
  try {
    return localStorage.getItem(`manent.${name}`);
  } catch {
    return null;
  }
}

/** Stores or removes a preference. */
export function savePreference(name: Name, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`manent.${name}`);
    else localStorage.setItem(`manent.${name}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts as long as the page.
  }
}
