// The session. The token comes once, in the link or typed, and is never stored by the page; what is stored is the
// secret of the session.

import { call, forgetPass, keepPass, onUnauthorized, Problem } from '../api';
import { drafts } from './drafts';
import { search } from './search.svelte';

export type SessionState = 'asking' | 'out' | 'in' | 'unreachable';

class Session {
  state: SessionState = $state('asking');
  /** The session has ended. */
  ended = $state(false);
  problem: Problem | undefined = $state.raw();
  #scopes: string[] = $state.raw([]);

  /** The key has the scope to append messages. */
  get writes(): boolean {
    return this.#scopes.some((scope) => scope !== 'read');
  }

  /** The key has the scope to change conversations: names, versions, the trash. */
  get manages(): boolean {
    return this.#scopes.some((scope) => scope === 'manage' || scope === 'admin');
  }

  async begin(): Promise<void> {
    onUnauthorized(() => {
      this.ended = this.state === 'in';
      this.state = 'out';
    });
    // The link may be opened in a tab that shows this page already; then only the fragment changes.
    addEventListener('hashchange', () => void this.#enterByLink());
    if (!(await this.#enterByLink())) await this.ask();
  }

  async #enterByLink(): Promise<boolean> {
    const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
    if (token === undefined) return false;
    // Removes the token from the URL, so that it is in no history and no bookmark.
    history.replaceState(null, '', location.pathname);
    return this.enter(token);
  }

  async ask(): Promise<void> {
    this.state = 'asking';
    try {
      this.#scopes = (await call('GET /session', {})).scopes;
      this.state = 'in';
    } catch (error) {
      const problem = Problem.thrown(error);
      this.problem = problem;
      this.state = problem.status === 401 ? 'out' : 'unreachable';
    }
  }

  /** Logs in and returns whether the token was accepted. */
  async enter(token: string): Promise<boolean> {
    try {
      keepPass((await call('POST /session', { body: { token } })).secret);
      this.#scopes = (await call('GET /session', {})).scopes;
      this.ended = false;
      this.problem = undefined;
      this.state = 'in';
      return true;
    } catch (error) {
      this.problem = Problem.thrown(error);
      return false;
    }
  }

  async leave(): Promise<void> {
    try {
      await call('DELETE /session', {});
    } finally {
      forgetPass();
      drafts.forget();
      search.close();
      this.ended = false;
      this.state = 'out';
    }
  }
}

export const session = new Session();
