// Tells what jest did.
'use strict';

const { tell, thrown } = require('./report.cjs');

module.exports = class Reporter {
  onTestResult(_test, result) {
    for (const test of result.testResults) {
      tell({
        row: 'test',
        file: result.testFilePath,
        titles: [...test.ancestorTitles, test.title],
        state: test.status,
        inverted: test.failing === true,
        runs: test.invocations ?? 1,
        errors: test.failureDetails.map((detail) => thrown(detail?.error ?? detail)),
      });
    }
    if (result.testExecError) {
      const errors = [thrown(result.testExecError)];
      tell({ row: 'broken', file: result.testFilePath, errors });
    }
  }

  onRunComplete() {
    tell({ row: 'end' });
  }
};
