// Search while typing, in titles and messages of all conversations or of one.

import { call, isAborted, Problem, type ConversationId, type SearchPage, type Hit } from '../api';
import { mayBeWrong } from '../model/query';

/** Pause in typing after which a search starts. */
const QUIET_MS = 150;
/** Pause in typing after which a syntax error is shown. */
const FINISHED_MS = 700;
const PAGE = 20;

export const ORDERS = ['newest', 'relevance'] as const;
export type Order = (typeof ORDERS)[number];
export const ALSO = ['branches', 'trashed', 'reasoning'] as const;
export type Also = (typeof ALSO)[number];

/** The last response, without its hits. */
export interface Answer {
  /** The query. */
  text: string;
  took_ms: number;
  /** Messages that are not indexed yet. */
  behind: number | undefined;
  timedOut: boolean;
}

export class Search {
  text = $state('');
  order: Order = $state('newest');
  /** Search in this conversation only. */
  within: ConversationId | undefined = $state();
  also: Also[] = $state.raw([]);
  hits: Hit[] = $state.raw([]);
  /** The hit selected with the arrow keys. */
  active = $state(-1);
  answer: Answer | undefined = $state.raw();
  /** A syntax or connection error; the last hits stay. */
  problem: Problem | undefined = $state.raw();
  /** A search is scheduled. */
  waiting = $state(false);
  asking = $state(false);
  reading = $state(false);
  #next: string | undefined = $state();
  #inTrash = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #finished: ReturnType<typeof setTimeout> | undefined;
  #controller = new AbortController();

  get more(): boolean {
    return this.#next !== undefined;
  }

  get open(): boolean {
    return this.text.trim() !== '';
  }

  /** Whether the hits belong to the current text. */
  get current(): boolean {
    return this.answer?.text === this.text && !this.waiting && !this.asking;
  }

  /** Takes the typed text. Text of an input method is not searched while it is composed. */
  type(text: string, manner: 'composing' | 'typed'): void {
    this.text = text;
    this.#stop();
    if (manner === 'composing') return;
    if (!this.open) return this.close();
    this.waiting = true;
    this.#timer = setTimeout(() => void this.#ask(), QUIET_MS);
    if (mayBeWrong(text)) this.#finished = setTimeout(() => void this.#check(), FINISHED_MS);
    else this.problem = undefined;
  }

  /** Searches now, without waiting for a pause. */
  finish(): void {
    if (!this.open) return;
    clearTimeout(this.#finished);
    if (!this.current) void this.#ask();
    if (mayBeWrong(this.text)) void this.#check();
  }

  sort(order: Order): void {
    this.order = order;
    this.#again();
  }

  look(also: Also, where: 'too' | 'not'): void {
    const others = this.also.filter((one) => one !== also);
    this.also = where === 'too' ? [...others, also] : others;
    this.#again();
  }

  /** Limits the search to one conversation. One in the trash includes the trash. */
  scope(within: ConversationId | undefined, where: 'in use' | 'in the trash'): void {
    if (within === this.within) return;
    this.within = within;
    this.#inTrash = where === 'in the trash';
    this.#again();
  }

  close(): void {
    this.#stop();
    this.text = '';
    this.hits = [];
    this.active = -1;
    this.answer = undefined;
    this.problem = undefined;
    this.#next = undefined;
  }

  /** Selects the next or previous hit and loads more at the end. */
  async step(direction: -1 | 1): Promise<void> {
    if (direction === 1 && this.active === this.hits.length - 1 && this.more) await this.readMore();
    const last = this.hits.length - 1;
    const from = this.active === -1 && direction === -1 ? 0 : this.active;
    const to = from + direction;
    this.active = to > last ? Math.min(0, last) : to < 0 ? last : to;
  }

  async readMore(): Promise<void> {
    if (this.reading || this.waiting || this.asking || this.#next === undefined) return;
    this.reading = true;
    await this.#read(this.answer?.text ?? this.text, this.#next);
    this.reading = false;
  }

  #again(): void {
    this.#stop();
    if (!this.open) return;
    void this.#ask();
    if (mayBeWrong(this.text)) void this.#check();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#finished);
    // A pending response is for an outdated text.
    this.#controller.abort();
    this.#controller = new AbortController();
    this.waiting = this.asking = this.reading = false;
  }

  async #ask(): Promise<void> {
    clearTimeout(this.#timer);
    this.waiting = false;
    this.asking = true;
    await this.#read(this.text, undefined);
  }

  async #read(text: string, after: string | undefined): Promise<void> {
    const signal = this.#controller.signal;
    try {
      const query = { ...this.#query(text), typing: true, limit: PAGE, ...(after === undefined ? {} : { after }) };
      const found = await call('GET /search', { query }, { signal });
      if (signal.aborted) return;
      this.#take(text, found, after !== undefined);
      if (this.problem?.code !== 'query') this.problem = undefined;
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      // Whether a query is wrong or only unfinished is decided after the longer pause.
      const problem = Problem.thrown(error);
      if (problem.code !== 'query') this.problem = problem;
      else if (!mayBeWrong(text)) this.problem = problem;
    }
    this.asking = false;
  }

  /** Asks the server whether the query is valid. */
  async #check(): Promise<void> {
    const signal = this.#controller.signal;
    const query = { ...this.#query(this.text), limit: 1 };
    try {
      await call('GET /search', { query }, { signal });
      if (!signal.aborted && this.problem?.code === 'query') this.problem = undefined;
    } catch (error) {
      if (isAborted(error) || signal.aborted) return;
      this.problem = Problem.thrown(error);
    }
  }

  #query(text: string) {
    const include = new Set<Also>(this.within !== undefined && this.#inTrash ? [...this.also, 'trashed'] : this.also);
    return {
      q: text,
      order: this.order,
      in: this.within,
      include: [...include].join(','),
      neighbours: 0,
      offset: -60 * new Date().getTimezoneOffset(),
    };
  }

  #take(text: string, found: SearchPage, goesOn: boolean): void {
    this.hits = goesOn ? [...this.hits, ...found.hits] : found.hits;
    if (!goesOn) this.active = -1;
    this.#next = found.next ?? undefined;
    this.answer = {
      text,
      took_ms: found.micros / 1000,
      behind: found.coverage.complete ? undefined : found.coverage.waiting,
      timedOut: found.timed_out,
    };
  }
}

export const search = new Search();
