// The words to highlight in messages while a search or the find bar is open.

import type { Field, Hit, MessageId } from '../api';
import { wordsOf, type Words } from '../model/found';
import { findInConversation } from './actions';
import { route } from './route.svelte';
import { search } from './search.svelte';

/** The hits in a message: the words, and the kinds of parts that contain them. */
export interface MessageHighlight {
  words: Words[];
  fields: Set<Field>;
}

class Highlights {
  #hits: Hit[] = $derived(findInConversation.within !== undefined && findInConversation.text.trim() !== '' ? findInConversation.hits : search.hits);

  all: Map<MessageId, MessageHighlight> = $derived(highlightsOf(this.#hits.filter((hit) => hit.conversation === route.place.conversation)));

  /** The open message, if it is a hit. */
  chosen: MessageId | undefined = $derived(
    route.place.message !== undefined && this.all.has(route.place.message) ? route.place.message : undefined,
  );
}

function highlightsOf(hits: Hit[]): Map<MessageId, MessageHighlight> {
  const highlights = new Map<MessageId, MessageHighlight>();
  for (const hit of hits) {
    if (hit.message === null) continue;
    const highlight = highlights.get(hit.message) ?? { words: [], fields: new Set() };
    highlight.words.push(...wordsOf(hit.snippet));
    highlight.fields.add(hit.field);
    highlights.set(hit.message, highlight);
  }
  return highlights;
}

export const highlights = new Highlights();
