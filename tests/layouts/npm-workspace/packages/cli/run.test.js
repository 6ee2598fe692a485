const fc = require("fast-check");
const { decode } = require("@acme/core");
const { run } = require("./index");

test("what runs is undone", () => {
  fc.assert(fc.property(fc.string(), (text) => decode(run(text)) === text));
});
