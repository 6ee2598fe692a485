// jest's own runner of a file, with one more setup file: the repository's stay as they are.
'use strict';

const { realpathSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');

const config = ['@jest/core', 'jest-config'].reduce(
  (from, name) => createRequire(from).resolve(name),
  realpathSync(process.argv[1]),
);
const own = createRequire(config)('jest-circus/runner');
const circus = own.default ?? own;

module.exports = (globals, project, ...rest) => {
  const setup = join(__dirname, 'jest-setup.cjs');
  const setupFilesAfterEnv = [...project.setupFilesAfterEnv, setup];
  return circus(globals, { ...project, setupFilesAfterEnv }, ...rest);
};
