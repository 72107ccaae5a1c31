// Paints found words without touching the elements that hold them: a message stays what Svelte made of it.

import type { MessageId } from '../api';
import { placesIn } from '../model/found';
import type { Mark } from '../state/marks.svelte';

/** Paints what was found in the messages that are mounted; returns the first place in the chosen one. */
export function paint(content: HTMLElement, marks: Map<MessageId, Mark>, chosen: MessageId | undefined): Range | undefined {
  // A browser without this shows the message that was found, and no words in it.
  if (!('highlights' in CSS)) return undefined;
  const all: Range[] = [];
  const here: Range[] = [];
  if (marks.size > 0) {
    for (const article of content.querySelectorAll<HTMLElement>('[data-testid="message"]')) {
      const id = article.dataset['id'] ?? '';
      const mark = marks.get(id);
      const body = article.querySelector<HTMLElement>('[data-testid="message-body"]');
      if (mark && body) (id === chosen ? here : all).push(...rangesIn(body, mark));
    }
  }
  CSS.highlights.set('found', new Highlight(...all));
  CSS.highlights.set('found-here', new Highlight(...here));
  return here[0];
}

export function wipe(): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete('found');
  CSS.highlights.delete('found-here');
}

/** Scrolls a place into sight, out of a box that scrolls by itself too. */
export function reveal(range: Range, scroller: HTMLElement): void {
  const start = range.startContainer.parentElement;
  for (const box of [start?.closest('pre'), scroller]) {
    if (!box) continue;
    const [place, frame] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    const room = Math.min(frame.height / 3, 160);
    if (place.top < frame.top || place.bottom > frame.bottom) box.scrollTop += place.top - frame.top - room;
    if (place.left < frame.left || place.right > frame.right) box.scrollLeft += place.left - frame.left - frame.width / 3;
  }
}

function rangesIn(body: HTMLElement, mark: Mark): Range[] {
  const nodes: { node: Text; start: number }[] = [];
  let text = '';
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  let block: Element | null | undefined;
  for (let node = walker.nextNode() as Text | null; node !== null; node = walker.nextNode() as Text | null) {
    // What can be pressed is the page's, not the message's.
    if (node.parentElement?.closest('button')) continue;
    // Two blocks are two lines, so that no word goes on from one into the other.
    const its = node.parentElement?.closest('p, li, td, th, pre, h3, h4, h5, h6, blockquote, summary, div');
    if (block !== undefined && its !== block) text += '\n';
    block = its;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return placesIn(text, mark.words).map(([start, end]) => {
    const range = document.createRange();
    const first = nodes.findLast((one) => one.start <= start) ?? nodes[0];
    const last = nodes.findLast((one) => one.start < end) ?? first;
    if (first && last) {
      range.setStart(first.node, Math.min(start - first.start, first.node.length));
      range.setEnd(last.node, Math.min(end - last.start, last.node.length));
    }
    return range;
  });
}
