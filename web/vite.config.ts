import { svelte } from '@sveltejs/vite-plugin-svelte';
import { loadEnv } from 'vite';
import { defineConfig } from 'vitest/config';
// @ts-expect-error -- a plain script, shared with nothing that needs types
import { compressed } from './scripts/compress.mjs';

export default defineConfig(({ mode }) => ({
  plugins: [svelte(), compressed()],
  build: {
    target: 'es2022',
    // The server's rules allow no inline script, so the polyfill that preloads modules stays out.
    modulePreload: { polyfill: false },
    // A data URL in a style sheet would need a wider rule than our own files do.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 340,
  },
  server: {
    // The server checks Host and Origin, so the proxy speaks as the server's own address.
    proxy: {
      '/api': { target: loadEnv(mode, '.', 'MANENT')['MANENT_URL'] ?? 'http://127.0.0.1:7402', changeOrigin: true },
    },
  },
  test: { include: ['src/**/*.test.ts'] },
}));
