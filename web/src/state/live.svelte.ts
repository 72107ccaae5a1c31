// Applies changes of other clients to the list and the open conversation.

import { call, follow, isAborted, Problem, type ConversationId, type JournalEntry, type LiveState } from '../api';
import { drafts } from './drafts';
import { list } from './list.svelte';
import { route } from './route.svelte';
import { sending } from './sending.svelte';
import { transcript } from './transcript.svelte';

/** Interval at which an open stream is reloaded. */
const PACE_MS = 120;

class Live {
  state: LiveState = $state('connecting');
  #kinds = new Map<ConversationId, Set<string>>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;

  start(): () => void {
    return follow({
      changed: (entry) => this.#changed(entry),
      missed: () => void this.#missed(),
      state: (state) => {
        this.state = state;
        if (state === 'open') this.#connected();
      },
    });
  }

  /** Retries what failed while the server was unreachable. */
  #connected(): void {
    drafts.retry();
    sending.connected();
    if (list.problem) void list.refresh();
    if (transcript.problem && transcript.problem.reach !== 'answer') void transcript.open(transcript.id, route.place.message);
  }

  #changed(entry: JournalEntry): void {
    if (entry.conversation === null) return;
    const kinds = this.#kinds.get(entry.conversation) ?? new Set();
    this.#kinds.set(entry.conversation, kinds.add(entry.kind));
    this.#soon();
  }

  #soon(): void {
    if (this.#busy || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#read();
    }, PACE_MS);
  }

  async #read(): Promise<void> {
    this.#busy = true;
    const changes = this.#kinds;
    this.#kinds = new Map();
    // After many changes, such as an import, the list is reloaded once.
    const many = changes.size > 20;
    if (many) await list.refresh();
    const open = transcript.id;
    const ids = many ? [...changes.keys()].filter((id) => id === open) : [...changes.keys()];
    await Promise.all(ids.map((id) => this.#take(id, changes.get(id) ?? new Set())));
    this.#busy = false;
    if (this.#kinds.size > 0) this.#soon();
  }

  async #take(id: ConversationId, kinds: Set<string>): Promise<void> {
    try {
      const conversation = await call('GET /conversations/{conversation}', { path: { conversation: id } });
      list.put(conversation);
      await transcript.follow(conversation, kinds);
    } catch (error) {
      if (isAborted(error) || Problem.thrown(error).status !== 404) return;
      list.drop(id);
      transcript.lost(id);
    }
  }

  async #missed(): Promise<void> {
    await list.refresh();
    if (transcript.id !== undefined && !transcript.opening) await this.#take(transcript.id, new Set(['head_moved']));
  }
}

export const live = new Live();
