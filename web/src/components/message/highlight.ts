// Highlights search hits with the CSS Custom Highlight API, which does not change the DOM.

import type { MessageId } from '../../api';
import { placesIn } from '../../model/found';
import type { MessageHighlight } from '../../state/highlights.svelte';

/** Highlights hits in mounted messages. Returns the first range in the chosen message. */
export function highlightWords(content: HTMLElement, highlights: Map<MessageId, MessageHighlight>, chosen: MessageId | undefined): Range | undefined {
  // A browser without the API shows the message without highlights.
  if (!('highlights' in CSS)) return undefined;
  const all: Range[] = [];
  const here: Range[] = [];
  if (highlights.size > 0) {
    for (const article of content.querySelectorAll<HTMLElement>('[data-message-id]')) {
      const id = article.dataset['messageId'] ?? '';
      const highlight = highlights.get(id);
      const body = article.querySelector<HTMLElement>('[data-message-body]');
      if (highlight && body) (id === chosen ? here : all).push(...rangesIn(body, highlight));
    }
  }
  CSS.highlights.set('found', new Highlight(...all));
  CSS.highlights.set('found-here', new Highlight(...here));
  return here[0];
}

export function clearHighlights(): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete('found');
  CSS.highlights.delete('found-here');
}

/** Scrolls a range into view, in a code block and in the transcript. */
export function scrollToRange(range: Range, scroller: HTMLElement): void {
  const start = range.startContainer.parentElement;
  for (const box of [start?.closest('pre'), scroller]) {
    if (!box) continue;
    const [place, frame] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    const room = Math.min(frame.height / 3, 160);
    if (place.top < frame.top || place.bottom > frame.bottom) box.scrollTop += place.top - frame.top - room;
    if (place.left < frame.left || place.right > frame.right) box.scrollLeft += place.left - frame.left - frame.width / 3;
  }
}

function rangesIn(body: HTMLElement, highlight: MessageHighlight): Range[] {
  const nodes: { node: Text; start: number }[] = [];
  let text = '';
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  let block: Element | null | undefined;
  for (let node = walker.nextNode() as Text | null; node !== null; node = walker.nextNode() as Text | null) {
    // Labels of buttons are not message text.
    if (node.parentElement?.closest('button')) continue;
    // A line break between blocks, so that no word continues from one into the next.
    const its = node.parentElement?.closest('p, li, td, th, pre, h3, h4, h5, h6, blockquote, summary, div');
    if (block !== undefined && its !== block) text += '\n';
    block = its;
    nodes.push({ node, start: text.length });
    text += node.data;
  }
  return placesIn(text, highlight.words).map(([start, end]) => {
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
