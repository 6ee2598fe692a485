// Tells what vitest did.
import { createRequire } from 'node:module';

const { tell, thrown } = createRequire(import.meta.url)('./report.cjs');

function titles(test) {
  const found = [];
  for (let one = test; one && one.type !== 'module'; one = one.parent) found.unshift(one.name);
  return found;
}

export default class Reporter {
  onInit(vitest) {
    // A new snapshot is no pass. Not each version has a word for it.
    for (const options of [vitest.snapshot?.options, vitest.config?.snapshotOptions]) {
      if (options) options.updateSnapshot = 'none';
    }
  }

  onTestRunEnd(modules, unhandled) {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        const about = test.diagnostic();
        tell({
          row: 'test',
          file: module.moduleId,
          titles: titles(test),
          state: test.options.mode === 'todo' ? 'todo' : state,
          inverted: test.options.fails === true,
          runs: 1 + (about?.retryCount ?? 0) + (about?.repeatCount ?? 0),
          errors: (errors ?? []).map((error) => thrown(error)),
        });
      }
      // Of the file, and of hooks around its tests.
      const suites = [module, ...module.children.allSuites()];
      const errors = suites.flatMap((one) => one.errors());
      if (errors.length > 0) {
        tell({ row: 'broken', file: module.moduleId, errors: errors.map((e) => thrown(e)) });
      }
    }
    if (unhandled.length > 0) {
      tell({ row: 'broken', file: '', errors: unhandled.map((error) => thrown(error)) });
    }
    tell({ row: 'end' });
  }
}
