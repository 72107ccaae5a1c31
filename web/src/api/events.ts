// Server-sent events read with `fetch`: an `EventSource` cannot send the secret of the session.

/** One event of a stream. */
export interface StreamEvent {
  event: string;
  data: string;
}

/** Reads the events of an answer until it ends. */
export async function* events(response: Response): AsyncGenerator<StreamEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  while (reader) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (waiting + value).split('\n\n');
    waiting = blocks.pop() ?? '';
    for (const block of blocks) {
      const line = (name: string): string => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1] ?? '';
      yield { event: line('event'), data: line('data') };
    }
  }
}
