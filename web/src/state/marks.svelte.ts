// Which words are marked in the messages: those that a search found, as long as it is open.

import type { Field, Hit, MessageId } from '../api';
import { wordsOf, type Words } from '../model/found';
import { finding } from './actions';
import { route } from './route.svelte';
import { search } from './search.svelte';

/** What was found in a message: the words, and the kinds of parts that hold them. */
export interface Mark {
  words: Words[];
  fields: Set<Field>;
}

class Marks {
  #hits: Hit[] = $derived(finding.within !== undefined && finding.text.trim() !== '' ? finding.hits : search.hits);

  all: Map<MessageId, Mark> = $derived(marksOf(this.#hits.filter((hit) => hit.conversation === route.place.conversation)));

  /** The message that was chosen, if it was found. */
  chosen: MessageId | undefined = $derived(
    route.place.message !== undefined && this.all.has(route.place.message) ? route.place.message : undefined,
  );
}

function marksOf(hits: Hit[]): Map<MessageId, Mark> {
  const marks = new Map<MessageId, Mark>();
  for (const hit of hits) {
    if (hit.message === null) continue;
    const mark = marks.get(hit.message) ?? { words: [], fields: new Set() };
    mark.words.push(...wordsOf(hit.snippet));
    mark.fields.add(hit.field);
    marks.set(hit.message, mark);
  }
  return marks;
}

export const marks = new Marks();
