// Delays loading indicators, so that short waits do not flicker.

const PATIENCE_MS = 150;

/** Follows a condition, but becomes true only after a delay. Call it during component initialization. */
export function delayed(condition: () => boolean): { readonly shown: boolean } {
  let shown = $state(false);
  $effect(() => {
    if (!condition()) {
      shown = false;
      return;
    }
    const timer = setTimeout(() => (shown = true), PATIENCE_MS);
    return () => clearTimeout(timer);
  });
  return {
    get shown() {
      return shown;
    },
  };
}
