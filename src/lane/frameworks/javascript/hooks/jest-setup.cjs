// Loaded by jest before a test file, in the context of its test.
'use strict';

const { cjs } = require('./entries.cjs')(process.env.FROSTLINE_LANE_FILE);
if (cjs) require('./fast-check.cjs')(require(cjs));
const rows = process.env.FROSTLINE_LANE_VALUES;
if (rows) require('node:fs').appendFileSync(rows, '{"row":"ready"}\n');
