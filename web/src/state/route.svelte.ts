// Router: the open conversation and message are in the URL fragment.

import type { ConversationId, MessageId } from '../api';

/** A route. */
export interface Place {
  conversation: ConversationId | undefined;
  message: MessageId | undefined;
}

/** Parses a fragment. */
export function placeOf(fragment: string): Place {
  const found = /^#\/c\/([\w-]+)(?:\/m\/([\w-]+))?$/.exec(fragment);
  return { conversation: found?.[1], message: found?.[2] };
}

/** Formats a fragment. */
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
    // `hashchange` fires later; a second key press must not start from the old route.
    this.place = placeOf(fragment);
  }

  /** Navigates without a new history entry. */
  replace(conversation?: ConversationId, message?: MessageId): void {
    history.replaceState(null, '', fragmentOf(conversation, message));
    this.place = placeOf(location.hash);
  }
}

export const route = new Route();
