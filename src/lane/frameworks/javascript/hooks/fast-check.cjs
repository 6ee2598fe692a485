// One instance of fast-check: the seed, and, in runs that are no votes, what it generates.
'use strict';

const { appendFileSync } = require('node:fs');

// Values that a stream is told by.
const MOST = 100;
const seed = process.env.FC_SEED;
const rows = process.env.FROSTLINE_LANE_VALUES;
let told = 0;

function tell(row) {
  appendFileSync(rows, `${JSON.stringify(row)}\n`);
}

function text(fc, value) {
  try {
    return fc.stringify(value);
  } catch (error) {
    return `<no text: ${error?.name}>`;
  }
}

// The prototype that holds `generate`, of properties that this instance makes.
function prototypeOf(property) {
  let holder = property;
  while (holder && !Object.hasOwn(holder, 'generate')) holder = Object.getPrototypeOf(holder);
  return holder;
}

// The stream of values must not hang on where a test fails.
function passed(fc, out) {
  return out !== null && fc.PreconditionFailure?.isFailure?.(out) ? out : null;
}

function watch(fc, prototype) {
  const { generate, run } = prototype;
  prototype.generate = function (...args) {
    const value = generate.apply(this, args);
    if (told++ < MOST) {
      // `value` would make a clone of what was not read yet.
      tell({ row: 'value', text: text(fc, 'value_' in value ? value.value_ : value.value) });
    }
    return value;
  };
  prototype.run = function (...args) {
    const out = run.apply(this, args);
    return typeof out?.then === 'function' ? out.then((o) => passed(fc, o)) : passed(fc, out);
  };
}

module.exports = function hook(module) {
  const fc = typeof module?.configureGlobal === 'function' ? module : module?.default;
  if (typeof fc?.configureGlobal !== 'function') return;
  const parameters = { ...fc.readConfigureGlobal() };
  if (seed !== undefined) parameters.seed = Number(seed);
  if (rows) {
    const properties = [
      fc.property(fc.constant(0), () => true),
      fc.asyncProperty(fc.constant(0), async () => true),
    ];
    // As fast-check itself writes the seed that it is given.
    const own = fc.check(properties[0], { seed: parameters.seed, numRuns: 1 }).seed;
    parameters.reporter = (details) => tell({ row: 'asserted', own: details.seed === own });
    for (const prototype of new Set(properties.map(prototypeOf))) watch(fc, prototype);
    tell({ row: 'hooked' });
  }
  fc.configureGlobal(parameters);
};
