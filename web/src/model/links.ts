// Which link targets the page allows.

const LENGTH_MAX = 2000;
const PROTOCOLS = ['http:', 'https:', 'mailto:'];

/** Returns the normalized URL of a link target (host names in Punycode), or nothing unless it is an absolute http, https or mailto URL. */
export function safeUrl(target: string): string | undefined {
  if (target.length > LENGTH_MAX || !/^(?:https?:\/\/|mailto:)/i.test(target)) return undefined;
  try {
    const url = new URL(target);
    return PROTOCOLS.includes(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
