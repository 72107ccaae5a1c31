// Sending messages. A message is shown once the server has stored it; if it fails, its text returns to the composer.

import { call, freshKey, Problem, type Conversation, type ConversationId } from '../api';
import { list } from './list.svelte';
import { transcript } from './transcript.svelte';

/** A message to send. */
export interface Unsent {
  conversation: ConversationId;
  role: string;
  text: string;
  /** Idempotency key, kept for retries, so that a message whose response was lost is not stored twice. */
  key: string;
}

/** A message that was not sent, and why. */
export interface Failure {
  unsent: Unsent;
  problem: Problem;
  /** Its text is back in the composer. */
  restored: boolean;
  /** The server is reachable again. It is kept for its key: the message may be stored and only the response lost. */
  over: boolean;
}

class Sending {
  pending: Unsent | undefined = $state.raw();
  failure: Failure | undefined = $state.raw();

  #line: Promise<unknown> = Promise.resolve();

  /** Sends after earlier messages are stored. Returns the failure, if any. */
  send(conversation: ConversationId, role: string, text: string): Promise<Problem | undefined> {
    const turn = this.#line.then(() => this.#send(conversation, role, text));
    this.#line = turn;
    return turn;
  }

  async #send(conversation: ConversationId, role: string, text: string): Promise<Problem | undefined> {
    const failed = this.failure?.unsent;
    const again = failed?.conversation === conversation && failed.role === role && failed.text === text;
    const unsent: Unsent = { conversation, role, text, key: again ? failed.key : freshKey() };
    this.failure = undefined;
    this.pending = unsent;
    try {
      await this.#showBranch(conversation);
      const body = { messages: [{ role, text }] };
      await call('POST /conversations/{conversation}/messages', { path: { conversation }, body }, { key: unsent.key });
      await this.#show(conversation);
      return undefined;
    } catch (error) {
      const problem = Problem.thrown(error);
      this.failure = { unsent, problem, restored: false, over: false };
      return problem;
    } finally {
      this.pending = undefined;
    }
  }

  /** Switches the conversation to the branch that is read before sending on it. */
  async #showBranch(conversation: ConversationId): Promise<void> {
    const elsewhere = transcript.id === conversation ? transcript.elsewhere : undefined;
    if (elsewhere === undefined) return;
    const body = { message: elsewhere.message };
    const shown = await call('POST /conversations/{conversation}/switch', { path: { conversation }, body });
    transcript.arrived(shown);
  }

  restored(): void {
    if (this.failure) this.failure = { ...this.failure, restored: true };
  }

  /** Hides connection errors when the server is reachable again. */
  connected(): void {
    if (this.failure && this.failure.problem.reach !== 'answer') this.failure = { ...this.failure, over: true };
  }

  dismiss(): void {
    this.failure = undefined;
  }

  /** The message is stored; an error while loading it is not a failure of sending. */
  async #show(id: ConversationId): Promise<void> {
    let conversation: Conversation;
    try {
      conversation = await call('GET /conversations/{conversation}', { path: { conversation: id } });
    } catch {
      return;
    }
    list.put(conversation);
    if (transcript.id !== id) return;
    if (transcript.moreAfter) await transcript.toEnd();
    else await transcript.follow(conversation, new Set(['messages_appended']));
  }
}

export const sending = new Sending();
