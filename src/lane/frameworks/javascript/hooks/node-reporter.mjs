// Tells what node's own runner did.
import { createRequire } from 'node:module';

const { tell, thrown } = createRequire(import.meta.url)('./report.cjs');

export default async function* reporter(events) {
  const open = [];
  for await (const { type, data } of events) {
    if (type === 'test:start') {
      open.length = data.nesting;
      open.push(data.name);
    } else if (type === 'test:pass' || type === 'test:fail') {
      const failed = type === 'test:fail';
      const error = data.details?.error;
      tell({
        row: data.details?.type === 'suite' ? 'suite' : 'test',
        file: data.file ?? '',
        titles: [...open.slice(0, data.nesting), data.name],
        state: data.skip !== undefined ? 'skipped' : data.todo !== undefined ? 'todo' : failed ? 'failed' : 'passed',
        inverted: data.expectFailure !== undefined,
        runs: 1,
        why: error?.failureType,
        errors: failed ? [thrown(error?.cause ?? error)] : [],
      });
    }
  }
  tell({ row: 'end' });
  yield '';
}
