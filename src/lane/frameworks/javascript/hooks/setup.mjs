// Loaded before a test file, in vitest's and node's own processes.
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { appendFileSync } from 'node:fs';

if (process.env.FROSTLINE_LANE_PACKAGE) process.chdir(process.env.FROSTLINE_LANE_PACKAGE);
// Only the process that runs the test's file, and not the one that starts it.
const file = process.env.FROSTLINE_LANE_FILE;
const runs = process.env.VITEST !== undefined || process.argv[1] === file;
if (file && runs) {
  const require = createRequire(fileURLToPath(import.meta.url));
  const hook = require('./fast-check.cjs');
  const { esm, cjs } = require('./entries.cjs')(file);
  if (esm) hook(await import(/* @vite-ignore */ pathToFileURL(esm).href));
  if (cjs && cjs !== esm) hook(require(cjs));
  const rows = process.env.FROSTLINE_LANE_VALUES;
  if (rows) appendFileSync(rows, '{"row":"ready"}\n');
}
