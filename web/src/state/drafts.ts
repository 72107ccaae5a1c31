// Drafts, saved on the server, so that they survive reloads and are found on other devices. Until the server has one it is kept
// in this browser, so that nothing is lost when the server is unreachable or the tab is closed.

import { call, Problem, type ConversationId } from '../api';
import { toasts } from './toasts.svelte';
import { t } from '../i18n/index.svelte';

const QUIET_MS = 400;
const KEPT = 'manent.draft.';

class Drafts {
  /** The newest unsaved text of each conversation; an empty text deletes the draft. */
  #unsaved: Map<ConversationId, string> = restored();
  /** Conversations with unsaved drafts of an earlier page; another tab may have saved them since. */
  #left = new Set(this.#unsaved.keys());
  #timers = new Map<ConversationId, ReturnType<typeof setTimeout>>();
  /** One request at a time for each conversation, or an old text could arrive last. */
  #lines = new Map<ConversationId, Promise<void>>();
  /** A failure is shown once until a draft is saved again. */
  #told = false;

  constructor() {
    addEventListener('pagehide', () => {
      for (const id of this.#timers.keys()) this.flush(id, 'leaving');
    });
  }

  async read(conversation: ConversationId, signal: AbortSignal): Promise<string> {
    await this.#lines.get(conversation);
    this.#renew(conversation);
    const unsaved = this.#unsaved.get(conversation);
    if (unsaved !== undefined) return unsaved;
    const path = { conversation };
    return (await call('GET /conversations/{conversation}/draft', { path, query: {} }, { signal })).text;
  }

  /** Saves a text after a pause in typing. */
  save(conversation: ConversationId, text: string): void {
    this.#keep(conversation, text);
    clearTimeout(this.#timers.get(conversation));
    this.#timers.set(conversation, setTimeout(() => this.flush(conversation, 'typing'), QUIET_MS));
  }

  /** Saves what waits for a pause. */
  flush(conversation: ConversationId, when: 'typing' | 'leaving'): void {
    if (!this.#timers.has(conversation)) return;
    this.#stopWaiting(conversation);
    this.#queue(conversation, when);
  }

  /** Deletes the draft, after it was sent. */
  clear(conversation: ConversationId): void {
    this.#stopWaiting(conversation);
    this.#keep(conversation, '');
    this.#queue(conversation, 'typing');
  }

  /** Saves unsaved drafts when the server is reachable again. */
  retry(): void {
    for (const id of this.#unsaved.keys()) if (!this.#timers.has(id) && !this.#lines.has(id)) this.#queue(id, 'typing');
  }

  /** Deletes all drafts in this browser, at logout. */
  forget(): void {
    for (const id of this.#timers.keys()) this.#stopWaiting(id);
    for (const id of [...this.#unsaved.keys()]) this.#keep(id, undefined);
    for (const id of restored().keys()) stored(id, undefined);
  }

  #stopWaiting(conversation: ConversationId): void {
    clearTimeout(this.#timers.get(conversation));
    this.#timers.delete(conversation);
  }

  #keep(conversation: ConversationId, text: string | undefined): void {
    this.#left.delete(conversation);
    if (text === undefined) this.#unsaved.delete(conversation);
    else this.#unsaved.set(conversation, text);
    stored(conversation, text);
  }

  /** Reloads a draft of an earlier page: another tab may have changed or saved it since. */
  #renew(conversation: ConversationId): void {
    if (!this.#left.has(conversation)) return;
    const text = restored().get(conversation);
    if (text === undefined) this.#unsaved.delete(conversation);
    else this.#unsaved.set(conversation, text);
  }

  #queue(conversation: ConversationId, when: 'typing' | 'leaving'): void {
    const before = this.#lines.get(conversation);
    // A page that is being closed cannot wait for the queue.
    const line = when === 'leaving' || before === undefined ? this.#send(conversation, when) : before.then(() => this.#send(conversation, when));
    this.#lines.set(conversation, line);
    void line.then(() => {
      if (this.#lines.get(conversation) === line) this.#lines.delete(conversation);
    });
  }

  async #send(conversation: ConversationId, when: 'typing' | 'leaving'): Promise<void> {
    this.#renew(conversation);
    const text = this.#unsaved.get(conversation);
    if (text === undefined) return;
    const path = { conversation };
    const keepalive = when === 'leaving';
    try {
      if (text === '') await call('DELETE /conversations/{conversation}/draft', { path, query: {} }, { keepalive });
      else await call('PUT /conversations/{conversation}/draft', { path, query: {}, body: { text } }, { keepalive });
      this.#told = false;
    } catch (error) {
      if (text !== '' && !keepalive && !this.#told) toasts.warn(t('composer.draftFailed'));
      this.#told = true;
      if (mayArriveLater(Problem.thrown(error))) return;
    }
    // Text typed meanwhile is queued on its own.
    if (this.#unsaved.get(conversation) === text) this.#keep(conversation, undefined);
  }
}

export const drafts = new Drafts();

/** Returns whether the same request can succeed later. A deleted conversation stays deleted. */
function mayArriveLater(problem: Problem): boolean {
  return problem.reach !== 'answer' || problem.status === 401 || problem.status >= 500;
}

function restored(): Map<ConversationId, string> {
  const found = new Map<ConversationId, string>();
  try {
    for (const [key, text] of Object.entries(localStorage)) {
      if (key.startsWith(KEPT) && typeof text === 'string') found.set(key.slice(KEPT.length), text);
    }
  } catch {
    // Without storage they last as long as the page.
  }
  return found;
}

/** Stores a draft in this browser, or removes it. */
function stored(conversation: ConversationId, text: string | undefined): void {
  try {
    if (text === undefined) localStorage.removeItem(KEPT + conversation);
    else localStorage.setItem(KEPT + conversation, text);
  } catch {
    // Without storage they last as long as the page.
  }
}
