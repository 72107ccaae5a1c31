// The conversation list: keyset paging, kept in order while other clients change it.

import { call, isAborted, Problem, type Conversation, type ConversationId, type ConversationStatus } from '../api';
import { microsOf } from '../model/dates';
import { toasts } from './toasts.svelte';

export const STATUSES = ['active', 'archived', 'trashed'] as const;
export type ListStatus = (typeof STATUSES)[number];

const PAGE = 50;

class List {
  conversations: Conversation[] = $state.raw([]);
  status: ListStatus = $state('active');
  /** The first page is loading. */
  opening = $state(true);
  reading = $state(false);
  problem: Problem | undefined = $state.raw();
  #next: string | undefined = $state();
  #controller = new AbortController();
  #first: Promise<void> = Promise.resolve();

  get more(): boolean {
    return this.#next !== undefined;
  }

  show(status: ListStatus): Promise<void> {
    this.status = status;
    return this.open();
  }

  /** Reloads the first page and aborts the previous request. */
  async open(): Promise<void> {
    this.opening = true;
    this.#first = this.#read(undefined, PAGE);
    await this.#first;
  }

  /** Reloads all loaded rows in place, because events may have been missed. */
  async refresh(): Promise<void> {
    // The first page must not be aborted: the page would open no conversation.
    await this.#first;
    await this.#read(undefined, Math.min(1000, Math.max(PAGE, this.conversations.length)));
  }

  async readMore(): Promise<void> {
    if (!this.reading && this.#next !== undefined) await this.#read(this.#next, PAGE);
  }

  /** Inserts or updates a conversation. */
  put(conversation: Conversation): void {
    toasts.saw(conversation);
    const others = this.conversations.filter((one) => one.id !== conversation.id);
    const known = this.conversations.find((one) => one.id === conversation.id);
    if (known && known.version > conversation.version) return;
    if (!this.#shows(conversation)) {
      this.conversations = others;
      return;
    }
    const place = others.findIndex((one) => compare(conversation, one) < 0);
    // A conversation after the last loaded row is loaded with its page.
    if (place === -1 && this.#next !== undefined) this.conversations = others;
    else this.conversations = others.toSpliced(place === -1 ? others.length : place, 0, conversation);
  }

  drop(id: ConversationId): void {
    this.conversations = this.conversations.filter((one) => one.id !== id);
  }

  #shows(conversation: Conversation): boolean {
    const status: ConversationStatus = this.status;
    return conversation.status === status;
  }

  async #read(after: string | undefined, limit: number): Promise<void> {
    this.#controller.abort();
    const controller = new AbortController();
    this.#controller = controller;
    this.reading = true;
    try {
      const query = { status: this.status, after, limit };
      const page = await call('GET /conversations', { query }, { signal: controller.signal });
      if (controller.signal.aborted) return;
      const seen = new Set(page.conversations.map((one) => one.id));
      const kept = after === undefined ? [] : this.conversations.filter((one) => !seen.has(one.id));
      this.conversations = [...kept, ...page.conversations];
      page.conversations.forEach((one) => toasts.saw(one));
      this.#next = page.next ?? undefined;
      this.problem = undefined;
    } catch (error) {
      if (isAborted(error) || controller.signal.aborted) return;
      this.problem = Problem.thrown(error);
    }
    this.reading = false;
    this.opening = false;
  }
}

export const list = new List();

/** Compares as the server does: pinned first, then by last activity. */
function compare(left: Conversation, right: Conversation): number {
  if ((left.pinned ?? false) !== (right.pinned ?? false)) return left.pinned === true ? -1 : 1;
  const difference = microsOf(right.active_at) - microsOf(left.active_at);
  if (difference !== 0) return difference;
  return left.id < right.id ? 1 : -1;
}
