// Find in the open conversation: all hits in reading order, and the current one.

import { call, isAborted, Problem, type ConversationId, type Hit, type MessageId } from '../api';

const QUIET_MS = 150;
const PAGE = 100;
/** Hits that are loaded at most. */
const HITS_MAX = 1000;

export class FindInConversation {
  /** The conversation that is searched; undefined while the bar is closed. */
  within: ConversationId | undefined = $state();
  text = $state('');
  /** Hits in messages, in reading order. */
  hits: Hit[] = $state.raw([]);
  shown: MessageId | undefined = $state();
  /** There are more hits than are loaded. */
  more = $state(false);
  asking = $state(false);
  /** The text that the hits belong to. */
  answered: string | undefined = $state();
  problem: Problem | undefined = $state.raw();
  #trashed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #controller = new AbortController();

  constructor(readonly show: (hit: Hit) => void) {}

  /** The number of the current hit from 1; 0 if there is none. */
  get place(): number {
    return this.hits.findIndex((hit) => hit.message === this.shown) + 1;
  }

  open(within: ConversationId, place: 'in use' | 'in the trash'): void {
    this.#trashed = place === 'in the trash';
    if (this.within === within) return;
    this.close();
    this.within = within;
  }

  close(): void {
    this.#stop();
    this.within = this.shown = this.answered = this.problem = undefined;
    this.text = '';
    this.hits = [];
    this.more = false;
  }

  type(text: string, manner: 'composing' | 'typed'): void {
    this.text = text;
    this.#stop();
    if (manner === 'composing') return;
    if (text.trim() === '') {
      this.hits = [];
      this.answered = this.shown = this.problem = undefined;
      return;
    }
    this.asking = true;
    this.#timer = setTimeout(() => void this.#ask(), QUIET_MS);
  }

  /** Shows the next or previous hit, wrapping around. */
  step(direction: -1 | 1): void {
    const count = this.hits.length;
    const place = this.place;
    const next = place === 0 ? (direction === 1 ? 0 : count - 1) : (place - 1 + direction + count) % count;
    this.#choose(this.hits[next]);
  }

  #choose(hit: Hit | undefined): void {
    if (!hit?.message) return;
    this.shown = hit.message;
    this.show(hit);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#controller.abort();
    this.#controller = new AbortController();
    this.asking = false;
  }

  async #ask(): Promise<void> {
    const signal = this.#controller.signal;
    const [text, within] = [this.text, this.within];
    const include = this.#trashed ? 'trashed' : '';
    const offset = -60 * new Date().getTimezoneOffset();
    const hits: Hit[] = [];
    let after: string | undefined;
    try {
      do {
        const query = { q: text, in: within, include, neighbours: 0, offset, typing: true, limit: PAGE, after };
        const found = await call('GET /search', { query }, { signal });
        if (signal.aborted) return;
        // Hits in the title have no message.
        hits.push(...found.hits.filter((hit) => hit.message !== null));
        after = found.next ?? undefined;
      } while (after !== undefined && hits.length < HITS_MAX);
      this.hits = hits.sort((left, right) => (left.position ?? 0) - (right.position ?? 0));
      this.more = after !== undefined;
      this.answered = text;
      this.problem = undefined;
      // Start at the last hit, as the view is usually at the end.
      if (this.place === 0) this.#choose(this.hits.at(-1));
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      this.problem = Problem.thrown(error);
    }
    this.asking = false;
  }
}
