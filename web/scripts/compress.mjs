// Writes a `.br` and a `.gz` beside every built file that shrinks, so that the server never compresses.

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const worthIt = /\.(?:html|js|css|svg|json|txt|webmanifest)$/;

/** A Vite plugin that runs when everything is written. */
export function compressed() {
  let folder = 'dist';
  return {
    name: 'compressed',
    apply: 'build',
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const file of filesOf(folder).filter((one) => worthIt.test(one))) {
        const plain = readFileSync(file);
        const brotli = brotliCompressSync(plain, {
          params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
        });
        if (brotli.length < plain.length) writeFileSync(`${file}.br`, brotli);
        const gzip = gzipSync(plain, { level: 9 });
        if (gzip.length < plain.length) writeFileSync(`${file}.gz`, gzip);
      }
    },
  };
}

function filesOf(folder) {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesOf(path) : [path]));
}
