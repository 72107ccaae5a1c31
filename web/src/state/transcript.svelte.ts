// The open conversation: a window of loaded messages that extends in both directions and follows changes.

import { SvelteMap } from 'svelte/reactivity';
import {
  call,
  isAborted,
  Problem,
  type BranchId,
  type BranchInfo,
  type Conversation,
  type ConversationId,
  type Message,
  type MessageId,
  type UndoSteps,
} from '../api';
import { atForks } from '../model/messages';

/** Messages per page, and messages mounted at most. */
const PAGE = 60;
const WINDOW = 300;

/** The alternatives of a message. */
export interface Siblings {
  ids: MessageId[];
  index: number;
}

/** The scroll target after the next update; used once. */
export type Placement = { at: 'start' } | { at: 'end' } | { at: 'message'; message: MessageId; offset_px: number | undefined };

class Transcript {
  id: ConversationId | undefined = $state();
  conversation: Conversation | undefined = $state.raw();
  messages: Message[] = $state.raw([]);
  moreBefore = $state(false);
  moreAfter = $state(false);
  opening = $state(false);
  reading: 'before' | 'after' | undefined = $state();
  problem: Problem | undefined = $state.raw();
  siblings = new SvelteMap<MessageId, Siblings>();
  /** The linked message is on another branch, whose path is shown without switching to it. */
  elsewhere: { message: MessageId; branch: BranchId } | undefined = $state.raw();
  /** The next undo and redo steps. */
  steps: UndoSteps | undefined = $state.raw();
  /** The linked message does not exist. */
  missing = $state(false);
  placement: Placement | undefined;
  #controller = new AbortController();
  #line: Promise<void> = Promise.resolve();
  #branches: BranchInfo[] = [];
  #branchesText = '';

  /** Opens a conversation at its end or at a message. Aborts requests for the previous one. */
  async open(id: ConversationId | undefined, message?: MessageId): Promise<void> {
    this.#begin();
    this.#leaveFor(id);
    if (id === undefined) {
      this.opening = false;
      return;
    }
    this.opening = true;
    await this.#next(async (signal) => {
      const reading = message === undefined ? this.#atEnd(id, signal) : this.#at(id, message, undefined, signal);
      const asking = call('GET /conversations/{conversation}', { path: { conversation: id } }, { signal });
      const [, conversation] = await Promise.all([reading, asking]);
      this.conversation = conversation;
      this.opening = false;
      await this.#readBranches(id, signal);
      await this.#readSteps(id, signal);
    });
  }

  /** Shows a new, empty conversation without a request. */
  show(made: Conversation): void {
    this.#begin();
    this.#leaveFor(made.id);
    this.conversation = made;
    this.opening = false;
  }

  /** Loads the messages around another message and keeps the scroll offset. */
  async moveTo(message: MessageId, offset_px: number | undefined): Promise<void> {
    const id = this.id;
    if (id === undefined) return;
    await this.#next(async (signal) => {
      await this.#at(id, message, offset_px, signal);
      await this.#readBranches(id, signal);
    });
  }

  async toEnd(): Promise<void> {
    const id = this.id;
    if (id !== undefined) await this.#next((signal) => this.#atEnd(id, signal));
  }

  async toStart(): Promise<void> {
    const id = this.id;
    if (id !== undefined) await this.#next((signal) => this.#atStart(id, signal));
  }

  async readBefore(): Promise<void> {
    const [id, first] = [this.id, this.messages[0]];
    if (id === undefined || first === undefined || this.reading || !this.moreBefore) return;
    this.reading = 'before';
    await this.#next(async (signal) => {
      const page = await this.#page(id, { from: first.id, direction: 'backward', limit: PAGE }, signal);
      if (this.messages[0]?.id !== first.id) return;
      const all = [...page.messages, ...this.messages];
      this.moreBefore = page.more;
      this.moreAfter ||= all.length > WINDOW;
      this.messages = all.slice(0, WINDOW);
      await this.#readSiblings(signal);
    });
    this.reading = undefined;
  }

  async readAfter(): Promise<void> {
    const [id, last] = [this.id, this.messages.at(-1)];
    if (id === undefined || last === undefined || this.reading || !this.moreAfter) return;
    this.reading = 'after';
    await this.#next(async (signal) => {
      const page = await this.#page(id, { from: last.id, direction: 'forward', limit: PAGE }, signal);
      if (this.messages.at(-1)?.id !== last.id) return;
      // Another path was opened meanwhile, and this page belongs to the old one.
      const reaches = [last, ...page.messages].some((one) => one.id === this.conversation?.head);
      if (!page.more && this.conversation && !reaches && !this.elsewhere) return this.#readAnew(this.conversation, signal);
      const all = [...this.messages, ...page.messages];
      this.moreAfter = page.more;
      this.moreBefore ||= all.length > WINDOW;
      this.messages = all.slice(-WINDOW);
      await this.#readSiblings(signal);
    });
    this.reading = undefined;
  }

  /** Applies changes of the open conversation; the kinds are those of the journal. */
  async follow(conversation: Conversation, kinds: Set<string>): Promise<void> {
    if (conversation.id !== this.id || this.opening) return;
    const before = this.conversation;
    if (before && before.version > conversation.version) return;
    this.conversation = conversation;
    if ([...kinds].some((kind) => kind !== 'chunk_appended')) {
      void this.#next((signal) => this.#readSteps(conversation.id, signal));
    }
    await this.#next(async (signal) => {
      const elsewhere = this.elsewhere;
      if (elsewhere) {
        // Appends to the current path do not affect this branch, but the conversation may have switched to it.
        if ([...kinds].every((kind) => HARMLESS.has(kind))) return;
        await this.#at(conversation.id, elsewhere.message, undefined, signal);
        await this.#readBranches(conversation.id, signal);
        return;
      }
      const onlySaid = [...kinds].every((kind) => HARMLESS.has(kind));
      if (kinds.has('chunk_appended') && onlySaid) await this.#readStreaming(signal);
      if (kinds.size > 0 && [...kinds].every((kind) => kind === 'chunk_appended' || kind === 'conversation_edited')) return;
      if (onlySaid && (await this.#readAppended(conversation, signal))) {
        await this.#readBranches(conversation.id, signal);
        return;
      }
      await this.#readAnew(conversation, signal);
      await this.#readBranches(conversation.id, signal);
    });
  }

  /** The branch that is read became the current one. */
  arrived(conversation: Conversation): void {
    if (conversation.id !== this.id) return;
    this.conversation = conversation;
    this.elsewhere = undefined;
  }

  /** The conversation was deleted. */
  lost(id: ConversationId): void {
    if (id !== this.id) return;
    this.#begin();
    this.opening = false;
    this.messages = [];
    this.conversation = undefined;
    this.problem = new Problem('answer', 404, 'not_found', '');
  }

  #leaveFor(id: ConversationId | undefined): void {
    if (id !== this.id) {
      this.id = id;
      this.conversation = undefined;
      this.messages = [];
      this.siblings.clear();
      this.#branches = [];
      this.#branchesText = '';
      this.moreBefore = this.moreAfter = false;
      this.placement = undefined;
    }
    this.elsewhere = undefined;
    this.missing = false;
    this.problem = undefined;
    this.reading = undefined;
    this.steps = undefined;
  }

  #begin(): void {
    this.#controller.abort();
    this.#controller = new AbortController();
    this.#line = Promise.resolve();
  }

  /** Runs tasks one after the other, so that they do not move the window concurrently. */
  #next(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const signal = this.#controller.signal;
    const run = async (): Promise<void> => {
      if (signal.aborted) return;
      try {
        await work(signal);
      } catch (error) {
        if (isAborted(error) || signal.aborted) return;
        this.opening = false;
        this.problem = Problem.thrown(error);
      }
    };
    this.#line = this.#line.then(run);
    return this.#line;
  }

  async #page(
    conversation: ConversationId,
    given: { from?: MessageId; direction: 'backward' | 'forward'; limit: number },
    signal: AbortSignal,
  ): Promise<{ messages: Message[]; more: boolean }> {
    const query = { ...given, branch: this.elsewhere?.branch };
    return call('GET /conversations/{conversation}/messages', { path: { conversation }, query }, { signal });
  }

  async #atEnd(id: ConversationId, signal: AbortSignal): Promise<void> {
    const page = await this.#page(id, { direction: 'backward', limit: PAGE }, signal);
    this.placement = { at: 'end' };
    this.moreBefore = page.more;
    this.moreAfter = false;
    this.messages = page.messages;
  }

  async #atStart(id: ConversationId, signal: AbortSignal): Promise<void> {
    const page = await this.#page(id, { direction: 'forward', limit: PAGE }, signal);
    this.placement = { at: 'start' };
    this.moreBefore = false;
    this.moreAfter = page.more;
    this.messages = page.messages;
    await this.#readSiblings(signal);
  }

  async #at(id: ConversationId, message: MessageId, offset_px: number | undefined, signal: AbortSignal): Promise<void> {
    const asking = call('GET /messages/{message}', { path: { message } }, { signal });
    const placed = await asking.catch((error: unknown) => {
      if (error instanceof Problem && error.status === 404) return undefined;
      throw error;
    });
    this.missing = placed?.conversation !== id;
    this.elsewhere = placed && !this.missing && !placed.on_path ? { message, branch: placed.branch } : undefined;
    if (placed === undefined || this.missing) return this.#atEnd(id, signal);
    const half = PAGE / 2;
    const [before, after] = await Promise.all([
      this.#page(id, { from: message, direction: 'backward', limit: half }, signal),
      this.#page(id, { from: message, direction: 'forward', limit: half }, signal),
    ]);
    this.placement = { at: 'message', message, offset_px };
    this.moreBefore = before.more;
    this.moreAfter = after.more;
    this.messages = [...before.messages, placed.message, ...after.messages];
  }

  /** Loads appended messages. Returns whether they lead to the new head. */
  async #readAppended(conversation: Conversation, signal: AbortSignal): Promise<boolean> {
    if (this.moreAfter) return true;
    const last = this.messages.at(-1);
    if (last === undefined) return false;
    if (last.id === conversation.head) return true;
    const page = await this.#page(conversation.id, { from: last.id, direction: 'forward', limit: PAGE }, signal);
    const known = new Set(this.messages.map((one) => one.id));
    const added = page.messages.filter((one) => !known.has(one.id));
    // If the window does not end at the head, the path has changed.
    if (!page.more && (added.at(-1) ?? last).id !== conversation.head) return false;
    this.moreAfter = page.more;
    const all = [...this.messages, ...added];
    this.moreBefore ||= all.length > WINDOW;
    this.messages = all.slice(-WINDOW);
    return true;
  }

  /** Reloads the window, because the path may have changed. */
  async #readAnew({ id }: Conversation, signal: AbortSignal): Promise<void> {
    const first = this.messages[0];
    if (this.moreAfter && first !== undefined) {
      const placed = await call('GET /messages/{message}', { path: { message: first.id } }, { signal }).catch(() => undefined);
      if (placed?.on_path) {
        const limit = Math.max(1, this.messages.length - 1);
        const page = await this.#page(id, { from: first.id, direction: 'forward', limit }, signal);
        this.moreAfter = page.more;
        this.messages = [placed.message, ...page.messages];
        return;
      }
    }
    const limit = Math.min(WINDOW, Math.max(PAGE, this.messages.length + 1));
    const page = await this.#page(id, { direction: 'backward', limit }, signal);
    this.moreBefore = page.more;
    this.moreAfter = false;
    this.messages = page.messages;
  }

  async #readStreaming(signal: AbortSignal): Promise<void> {
    for (const streaming of this.messages.filter((one) => one.status === 'streaming')) {
      const placed = await call('GET /messages/{message}', { path: { message: streaming.id } }, { signal });
      this.messages = this.messages.map((one) => (one.id === streaming.id ? placed.message : one));
    }
  }

  /** Loads the undo and redo steps; on an error none are offered. */
  async #readSteps(conversation: ConversationId, signal: AbortSignal): Promise<void> {
    const asking = call('GET /conversations/{conversation}/undo', { path: { conversation } }, { signal });
    const steps = await asking.catch((error: unknown) => {
      if (isAborted(error)) throw error;
      return undefined;
    });
    if (this.id === conversation) this.steps = steps;
  }

  async #readBranches(conversation: ConversationId, signal: AbortSignal): Promise<void> {
    const branches = await call('GET /conversations/{conversation}/branches', { path: { conversation } }, { signal });
    const text = JSON.stringify(branches.map((one) => [one.id, one.fork, one.reason]));
    if (text !== this.#branchesText) this.siblings.clear();
    [this.#branches, this.#branchesText] = [branches, text];
    await this.#readSiblings(signal);
  }

  /** Loads the alternatives of messages that follow a fork. */
  async #readSiblings(signal: AbortSignal): Promise<void> {
    const wanted = atForks(this.messages, this.#branches, !this.moreBefore).filter((id) => !this.siblings.has(id));
    await Promise.all(
      wanted.map(async (message) => {
        const ids: MessageId[] = [];
        for (let after: MessageId | undefined, more = true; more; ) {
          const page = await call('GET /messages/{message}/siblings', { path: { message }, query: { after } }, { signal });
          ids.push(...page.messages.filter((one) => one.message.status !== 'failed').map((one) => one.message.id));
          [after, more] = [page.messages.at(-1)?.message.id, page.more];
        }
        this.siblings.set(message, { ids, index: ids.indexOf(message) });
      }),
    );
  }
}

/** Kinds of changes that leave the path as it is or append to it. */
const HARMLESS = new Set(['messages_appended', 'chunk_appended', 'conversation_edited', 'conversation_created']);

export const transcript = new Transcript();
