// Starts a runner's own program in the folder of the test's package: `launch.mjs PROGRAM WORDS…`.
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const own = dirname(fileURLToPath(import.meta.url));
const names = ['vitest.config', 'vite.config'].flatMap((name) =>
  ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((extension) => `${name}.${extension}`),
);

// The repository's configuration of vitest with one more setup file. vitest compiles what it imports.
function configuration() {
  const base = names.map((name) => join(process.cwd(), name)).find((path) => existsSync(path));
  const setup = JSON.stringify(join(own, 'setup.mjs'));
  const cache = JSON.stringify(join(own, '..', 'tmp', 'vite'));
  return `${base ? `import base from ${JSON.stringify(base)};` : 'const base = {};'}
export default async (env) => {
  const found = await (typeof base === 'function' ? base(env) : base);
  const test = found.test ?? {};
  const setupFiles = [test.setupFiles ?? []].flat().concat(${setup});
  return { ...found, cacheDir: ${cache}, test: { ...test, setupFiles } };
};
`;
}

process.chdir(process.env.FROSTLINE_LANE_PACKAGE);
process.argv.splice(1, 1);
writeFileSync(join(own, 'vitest.config.mjs'), configuration());
await import(pathToFileURL(process.argv[1]).href);
