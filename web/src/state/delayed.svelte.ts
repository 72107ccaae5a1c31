// Shows that something is on its way only when it takes long enough to wonder.

const PATIENCE_MS = 150;

/** Follows a condition, but becomes true only after it held for a moment. Call it while a component is made. */
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
