// Whether one is in. The token comes once, in the link or by hand, and is never kept by the page; what is kept is the
// secret of the session.

import { call, forgetPass, keepPass, onRefused, Problem } from '../api';
import { drafts } from './drafts';
import { search } from './search.svelte';

export type SessionState = 'asking' | 'out' | 'in' | 'unreachable';

class Session {
  state: SessionState = $state('asking');
  /** One was in, and is no longer. */
  ended = $state(false);
  problem: Problem | undefined = $state.raw();
  #scopes: string[] = $state.raw([]);

  /** One may say something. What one may not do is not offered. */
  get writes(): boolean {
    return this.#scopes.some((scope) => scope !== 'read');
  }

  /** One may change what was said: names, versions, the trash. */
  get manages(): boolean {
    return this.#scopes.some((scope) => scope === 'manage' || scope === 'admin');
  }

  async begin(): Promise<void> {
    onRefused(() => {
      this.ended = this.state === 'in';
      this.state = 'out';
    });
    // The link may be opened in a tab that shows this page already; then nothing is loaded anew.
    addEventListener('hashchange', () => void this.#enterByLink());
    if (!(await this.#enterByLink())) await this.ask();
  }

  async #enterByLink(): Promise<boolean> {
    const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
    if (token === undefined) return false;
    // The secret leaves the address at once, so that it is in no history and no bookmark.
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

  /** Says whether the token was the right one. */
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
