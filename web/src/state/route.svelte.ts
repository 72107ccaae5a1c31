// Where one is: the fragment of the address, so that a link works and the back button too.

import type { ConversationId, MessageId } from '../api';

/** A place of the page. */
export interface Place {
  conversation: ConversationId | undefined;
  message: MessageId | undefined;
}

/** Reads a fragment. */
export function placeOf(fragment: string): Place {
  const found = /^#\/c\/([\w-]+)(?:\/m\/([\w-]+))?$/.exec(fragment);
  return { conversation: found?.[1], message: found?.[2] };
}

/** Writes a fragment. */
export function fragmentOf(conversation?: ConversationId, message?: MessageId): string {
  if (conversation === undefined) return '#/';
  return message === undefined ? `#/c/${conversation}` : `#/c/${conversation}/m/${message}`;
}

class Route {
  place: Place = $state.raw(placeOf(location.hash));

  constructor() {
    addEventListener('hashchange', () => {
      const place = placeOf(location.hash);
      if (place.conversation !== this.place.conversation || place.message !== this.place.message) this.place = place;
    });
  }

  go(conversation?: ConversationId, message?: MessageId): void {
    const fragment = fragmentOf(conversation, message);
    if (location.hash === fragment) return;
    location.hash = fragment;
    // The browser tells it later; a second key press must not start from the old place.
    this.place = placeOf(fragment);
  }

  /** Goes somewhere without leaving a step for the back button. */
  replace(conversation?: ConversationId, message?: MessageId): void {
    history.replaceState(null, '', fragmentOf(conversation, message));
    this.place = placeOf(location.hash);
  }
}

export const route = new Route();
