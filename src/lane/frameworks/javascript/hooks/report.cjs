// Rows of a run's report: a line of JSON for each thing that happened.
'use strict';

const { openSync, writeSync } = require('node:fs');

const LONGEST = 64 * 1024;
const DEEPEST = 8;
const report = openSync(process.env.FROSTLINE_LANE_REPORT, 'a', 0o600);
// Processes that are started from here on do not see it.
delete process.env.FROSTLINE_LANE_REPORT;

exports.tell = function tell(row) {
  let data = Buffer.from(`${JSON.stringify(row)}\n`);
  while (data.length > 0) data = data.subarray(writeSync(report, data));
};

function text(value) {
  try {
    return String(value ?? '').slice(0, LONGEST);
  } catch {
    return '<no text>';
  }
}

// What was thrown, which may be anything.
function thrown(error, depth = 0) {
  if (error === null || typeof error !== 'object') {
    return { name: typeof error, message: text(error), stack: '', causes: [] };
  }
  const inner = Array.isArray(error.errors) ? error.errors.slice(0, DEEPEST) : [];
  const causes = [error.cause, ...inner].filter((one) => one !== undefined && one !== null);
  const stack = text(error.stack);
  // Of an error that was copied from another context only the stack tells the name.
  const named = /^(?:Uncaught )?([\w$.]+)(?: \[[^\]]*\])?(?::|\n|$)/.exec(stack)?.[1];
  return {
    name: text(error instanceof Error ? error.name : (named ?? error.name ?? 'object')),
    message: text(error.message),
    stack,
    causes: depth < DEEPEST ? causes.map((one) => thrown(one, depth + 1)) : [],
  };
}
exports.thrown = thrown;
