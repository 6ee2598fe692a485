// The files by which a test may load fast-check, as its own file sees it.
'use strict';

const { existsSync, readFileSync, realpathSync } = require('node:fs');
const { dirname, join } = require('node:path');

// The target of a package's main export under one of these conditions.
function target(exported, conditions) {
  if (typeof exported === 'string') return exported;
  if (exported === null || typeof exported !== 'object') return undefined;
  for (const [name, inner] of Object.entries(exported)) {
    if (conditions.includes(name)) {
      const found = target(inner, conditions);
      if (found) return found;
    }
  }
  return undefined;
}

module.exports = function entries(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const link = join(folder, 'node_modules', 'fast-check');
    if (existsSync(join(link, 'package.json'))) {
      const root = realpathSync(link);
      const about = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      const main = about.exports?.['.'] ?? about.exports;
      const of = (condition, otherwise) => {
        const path = target(main, [condition, 'node', 'default']) ?? otherwise;
        const found = path && join(root, path);
        return found && existsSync(found) ? found : undefined;
      };
      return {
        esm: of('import', about.module ?? about.main),
        cjs: of('require', about.main),
      };
    }
    if (folder === dirname(folder)) return {};
  }
};
