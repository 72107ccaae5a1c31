// The secret of a session. A cookie goes to every port of a host, so the server also wants this, which only pages of this
// origin can read. All tabs share it.

const NAME = 'manent-session';
const HEADER = 'manent-session';

/** Returns the authentication headers. */
export function pass(): Record<string, string> {
  const secret = kept();
  return secret === null ? {} : { [HEADER]: secret };
}

/** Keeps the secret of a session that has begun. */
export function keepPass(secret: string): void {
  memory = secret;
  try {
    localStorage.setItem(NAME, secret);
  } catch {
    // Without storage the secret lasts until the page is closed.
  }
}

export function forgetPass(): void {
  memory = null;
  try {
    localStorage.removeItem(NAME);
  } catch {
    // Without storage there is nothing to delete.
  }
}

let memory: string | null = null;

function kept(): string | null {
  try {
    return localStorage.getItem(NAME) ?? memory;
  } catch {
    return memory;
  }
}
