import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encode } from "../src/encode";

describe("encode", () => {
  it("never has a space", () => {
    fc.assert(fc.property(fc.string(), (text) => expect(encode(text)).not.toContain(" ")));
  });
});
