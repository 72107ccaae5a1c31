// A message on its way. Until the server has it, it is nowhere in the conversation; if it fails, it goes back.

import { call, freshKey, Problem, type Conversation, type ConversationId } from '../api';
import { list } from './list.svelte';
import { transcript } from './transcript.svelte';

/** What is to be said. */
export interface Unsent {
  conversation: ConversationId;
  role: string;
  text: string;
  /** Stays the same for a retry, so that a message whose answer was lost is not said twice. */
  key: string;
}

/** What was not sent, and why. */
export interface Failure {
  unsent: Unsent;
  problem: Problem;
  /** Its text is in the input again. */
  restored: boolean;
  /** What stood in the way is over. It is kept for its key: the message may have arrived, and only the answer been lost. */
  over: boolean;
}

class Sending {
  pending: Unsent | undefined = $state.raw();
  failure: Failure | undefined = $state.raw();

  #line: Promise<unknown> = Promise.resolve();

  /** Sends when what was sent before has arrived, and says what went wrong if something did. */
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

  /** Goes on where one reads: a branch that was only looked at becomes the shown one. */
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

  /** The server is back, so nothing says any more that it cannot be reached. */
  connected(): void {
    if (this.failure && this.failure.problem.reach !== 'answer') this.failure = { ...this.failure, over: true };
  }

  dismiss(): void {
    this.failure = undefined;
  }

  /** The message is stored; that it cannot be shown yet is no failure of sending. */
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
