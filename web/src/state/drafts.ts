// What somebody is typing, kept on the server so that a reload, a crash or another screen finds it.

import { call, type ConversationId } from '../api';
import { toasts } from './toasts.svelte';
import { t } from '../i18n/index.svelte';

const QUIET_MS = 400;

interface Waiting {
  text: string;
  timer: ReturnType<typeof setTimeout>;
}

class Drafts {
  #waiting = new Map<ConversationId, Waiting>();
  /** One request at a time for each conversation, or an old text could arrive last. */
  #lines = new Map<ConversationId, Promise<void>>();

  constructor() {
    addEventListener('pagehide', () => {
      for (const id of this.#waiting.keys()) this.flush(id, 'leaving');
    });
  }

  async read(conversation: ConversationId, signal: AbortSignal): Promise<string> {
    const waiting = this.#waiting.get(conversation);
    if (waiting) return waiting.text;
    await this.#lines.get(conversation);
    const path = { conversation };
    return (await call('GET /conversations/{conversation}/draft', { path, query: {} }, { signal })).text;
  }

  /** Keeps a text as soon as the typing pauses. */
  save(conversation: ConversationId, text: string): void {
    clearTimeout(this.#waiting.get(conversation)?.timer);
    const timer = setTimeout(() => this.flush(conversation, 'typing'), QUIET_MS);
    this.#waiting.set(conversation, { text, timer });
  }

  /** Sends what waits. */
  flush(conversation: ConversationId, when: 'typing' | 'leaving'): void {
    const waiting = this.#waiting.get(conversation);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    this.#waiting.delete(conversation);
    this.#queue(conversation, waiting.text, when === 'leaving');
  }

  /** Forgets the draft: it was sent. */
  clear(conversation: ConversationId): void {
    clearTimeout(this.#waiting.get(conversation)?.timer);
    this.#waiting.delete(conversation);
    this.#queue(conversation, '', false);
  }

  #queue(conversation: ConversationId, text: string, keepalive: boolean): void {
    const path = { conversation };
    const send = async (): Promise<void> => {
      try {
        if (text === '') await call('DELETE /conversations/{conversation}/draft', { path, query: {} }, { keepalive });
        else await call('PUT /conversations/{conversation}/draft', { path, query: {}, body: { text } }, { keepalive });
      } catch {
        if (!keepalive && text !== '') toasts.warn(t('composer.draftFailed'));
      }
    };
    const before = this.#lines.get(conversation);
    // A page that is going away cannot wait for its turn.
    const line = keepalive || before === undefined ? send() : before.then(send);
    this.#lines.set(conversation, line);
    void line.then(() => {
      if (this.#lines.get(conversation) === line) this.#lines.delete(conversation);
    });
  }
}

export const drafts = new Drafts();
