use super::*;
use crate::model::Generator;

const JS: Language = Language::JavaScript;
const TS: Language = Language::TypeScript;

#[test]
fn titled_calls_are_tests() {
    all_run(
        JS,
        "a",
        &[
            "it('a', () => {});\n",
            "test(\"a\", async () => {});\n",
            "it(`a`, function () {});\n",
            "it('\\x61', () => {});\n",
            "test.concurrent('a', async () => {});\n",
            "it.only('a', () => {});\n",
            "it('a', { timeout: 3, skip: false }, () => {});\n",
            "it('a', fakeAsync(() => {}));\n",
            "it.each([1, 2])('a', (x) => {});\n",
            "import { it as spec } from 'vitest';\nspec('a', () => {});\n",
            "await test('a', async (t) => {});\n",
            "fc.test.prop([fc.integer()])('a', (x) => {});\n",
            "test.prop({ x: fc.integer() })('a', ({ x }) => {});\n",
            "testProp('a', [fc.integer()], (t, x) => {});\n",
            "Deno.test('a', () => {});\n",
            "it('a', () => { reader.skip(4); expect(1); });\n",
            "it('a', () => { return fc.assert(p); });\n",
            "const test = base.extend({});\ntest('a', () => {});\n",
        ],
    );
    all_run(
        TS,
        "A::b \"c\"::a",
        &[
            "describe('A', () => { describe(\"b \\\"c\\\"\", () => { it('a', () => {}); }); });\n",
            "describe('A', function (this: X) { context('b \"c\"', () => { it.each<T>([1])('a', () => {}); }); });\n",
            "test.describe('A', () => { suite('b \"c\"', () => { it('a', (): void => {}); }); });\n",
        ],
    );
    all_run(
        JS,
        "a::sub",
        &["test('a', async (t) => { await t.test('sub', (t) => {}); });\n"],
    );
    all_run(
        Language::Tsx,
        "a",
        &["it('a', () => { render(<App x={1} />); });\n"],
    );
}

#[test]
fn what_skips_a_test_disables_it() {
    all_disabled(
        JS,
        "a",
        &[
            "it.skip('a', () => {});\n",
            "it['skip']('a', () => {});\n",
            "test.concurrent.skip('a', () => {});\n",
            "it.todo('a');\n",
            "it.fails('a', () => {});\n",
            "test.failing('a', () => {});\n",
            "test.fixme('a', () => {});\n",
            "xit('a', () => {});\n",
            "xtest('a', () => {});\n",
            "it.skip.each([1])('a', () => {});\n",
            "it.skipIf(x)('a', () => {});\n",
            "it.runIf(x)('a', () => {});\n",
            "it('a');\n",
            "it('a', { skip: true }, () => {});\n",
            "it('a', { skip: reason }, () => {});\n",
            "it('a', { skip }, () => {});\n",
            "it('a', { 'todo': 'x' }, () => {});\n",
            "it('a', function () { this.skip(); });\n",
            "it('a', (t) => { t.skip('x'); });\n",
            "it('a', t => t.skip());\n",
            "it('a', ({ skip }) => { skip(); });\n",
            "it('a', (ctx) => { const x = 1; ctx.skip(); });\n",
            "it('a', function () { if (x) this.skip(); expect(1); });\n",
            "it('a', function () { if (x) { return this.skip(); } expect(1); });\n",
            "it('a', () => { return; expect(1); });\n",
            "it('a', () => { pending(); });\n",
            "it('a', () => {}); it.only('b', () => {});\n",
            "it('a', () => {}); describe('x', () => { it('b', { only: true }, () => {}); });\n",
            "it('a', () => {}); fit('b', () => {});\n",
            "it('a', () => {}); describe.only.each([1])('%s', () => {});\n",
            "beforeEach(function () { this.skip(); });\nit('a', () => {});\n",
            "it('a', () => {}); it.skip('a', () => {});\n",
        ],
    );
    all_disabled(
        JS,
        "D::a",
        &[
            "describe.skip('D', () => { it('a', () => {}); });\n",
            "xdescribe('D', () => { it('a', () => {}); });\n",
            "describe('D', { skip: true }, () => { it('a', () => {}); });\n",
            "describe('D', () => { it('a', () => {}); beforeAll((t) => { t.skip(); }); });\n",
            "if (x) { describe('D', () => { it('a', () => {}); }); }\n",
            "describe('D', () => { if (x) { it('a', () => {}); } });\n",
            "describe('D', () => { x && it('a', () => {}); });\n",
            "describe('D', () => { it('a', () => {}); it.only('b', () => {}); });\n",
            "describe.only('D', () => { it('a', () => {}); it.only('b', () => {}); });\n",
        ],
    );
    assert_eq!(
        state(JS, "\nit.skip('a', f);\n", "a"),
        "skipped by it.skip at 2"
    );
}

#[test]
fn what_may_never_be_declared_is_disabled() {
    all_disabled(
        JS,
        "a",
        &[
            "if (x) it('a', () => {});\n",
            "if (false) { it('a', () => {}); }\n",
            "for (const x of []) { it('a', () => {}); }\n",
            "[].forEach(() => { it('a', () => {}); });\n",
            "function f() { it('a', () => {}); }\n",
            "const f = () => it('a', () => {});\n",
            "class X { m() { it('a', () => {}); } }\n",
            "try { it('a', () => {}); } catch {}\n",
            "x ? it('a', () => {}) : 0;\n",
            "function it() {}\nit('a', () => {});\n",
            "const it = () => {};\nit('a', () => {});\n",
        ],
    );
    for text in [
        "// it('a', () => {});\n",
        "const x = \"it('a', () => {});\";\n",
        "it('b', () => { it('a', () => {}); });\n",
        "other('a', () => {});\n",
        "test.step('a', () => {});\n",
        "it.each([1]);\n",
    ] {
        assert_eq!(state(JS, text, "a"), "nothing", "{text}");
    }
}

#[test]
fn only_leaves_what_it_marks_running() {
    all_run(
        JS,
        "D::a",
        &[
            "describe.only('D', () => { it('a', () => {}); }); it('b', () => {});\n",
            "describe('D', () => { it.only('a', () => {}); it('b', () => {}); });\n",
            "describe.only('D', () => { it.only('a', () => {}); it('b', () => {}); });\n",
            "describe('D', () => { it.only('a', () => {}); }); it.only('b', () => {});\n",
        ],
    );
}

#[test]
fn computed_titles_are_not_known() {
    for (text, names) in [
        ("it(`x ${y}`, () => {});\n", "x 1"),
        ("it.each([1])('adds %s', () => {});\n", "adds 1"),
        ("it.each`a\n${1}`('adds $a', () => {});\n", "adds 1"),
        ("it(title, () => {});\n", "x"),
        ("for (const x of y) { it(`t ${x}`, () => {}); }\n", "t 1"),
        ("describe('D', shared);\n", "D::a"),
        (
            "describe(Thing.name, () => { it('a', () => {}); });\n",
            "Thing::a",
        ),
        (
            "describe.each([1])('D %s', () => { it('a', () => {}); });\n",
            "D 1::a",
        ),
    ] {
        assert_eq!(state(JS, text, names), "computed", "{text}");
    }
    let text = "describe('D', () => { it(`x ${y}`, () => {}); });\n";
    assert_eq!(state(JS, text, "a"), "nothing", "only inside D");
    assert_eq!(state(JS, text, "D::a"), "computed");
}

#[test]
fn generators_and_seeds_are_seen() {
    let check = Some(Generator::FastCheck);
    for (text, generator, seed) in [
        ("it('a', () => { expect(1); });\n", None, None),
        (
            "it('a', () => { fc.assert(fc.property(fc.nat(), (x) => x)); });\n",
            check,
            None,
        ),
        (
            "it('a', () => fc.assert(fc.asyncProperty(fc.nat(), async (x) => x)));\n",
            check,
            None,
        ),
        (
            "it('a', () => {\n fc.assert(fc.property(fc.nat(), (x) => x),\n { seed: 42 }); });\n",
            check,
            Some(3),
        ),
        ("test.prop([fc.nat()])('a', (x) => x);\n", check, None),
        (
            "test.prop([fc.nat()], { seed: 1 })('a', (x) => x);\n",
            check,
            Some(1),
        ),
        (
            "fc.configureGlobal({ seed: 3 });\ntest.prop([fc.nat()])('a', (x) => x);\n",
            check,
            Some(1),
        ),
    ] {
        let found = item(JS, text, "a");
        assert_eq!((found.generator, found.seed), (generator, seed), "{text}");
    }
}

const SUITE: &str = "\
import { gen } from './gen';

const limit = 3;

describe('D', () => {
  const local = 2;

  it('a', () => { expect(local).toBe(limit); });

  it('b', () => {});
});

it('c', () => { expect(limit); });
";

#[test]
fn a_test_keeps_its_context_when_another_is_added_changed_or_taken_away() {
    let before = [item(TS, SUITE, "D::a"), item(TS, SUITE, "c")];
    for changed in [
        SUITE.replace("  it('b', () => {});", ""),
        SUITE.replace("it('b', () => {})", "// more\n  it('bb', () => { x(); })"),
        SUITE.replace(
            "describe('D'",
            "\n\n// Another.\nit('z', () => {});\n\ndescribe('D'",
        ),
        format!("{SUITE}\ndescribe('E', () => {{ const q = 1; it('a', () => {{}}); }});\n"),
    ] {
        let after = [item(TS, &changed, "D::a"), item(TS, &changed, "c")];
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(
                (&before.text, &before.context),
                (&after.text, &after.context),
                "{changed}"
            );
        }
    }
    for (from, to, reaches) in [
        ("limit = 3", "limit = 4", [true, true]),
        ("'./gen'", "'./gen2'", [true, true]),
        ("local = 2", "local = 4", [true, false]),
        (
            "describe('D', ()",
            "describe('D', { retry: 3 }, ()",
            [true, false],
        ),
    ] {
        let changed = SUITE.replace(from, to);
        let after = [item(TS, &changed, "D::a"), item(TS, &changed, "c")];
        let moved = [0, 1].map(|at| before[at].context != after[at].context);
        assert_eq!(moved, reaches, "{from} to {to}");
    }
    let renamed = SUITE.replace("it('a'", "it('renamed'");
    assert_eq!(before[0].shape, item(TS, &renamed, "D::renamed").shape);
}

#[test]
fn imports_are_kept_as_written() {
    let text = "\
import x, { y } from './a';
export * from \"../b.js\";
const z = require('c');
const l = await import('./lazy');
jest.mock('./mocked');
import './effect';
it('a', () => { require(name); });
";
    let found: Vec<String> = facts(TS, text)
        .imports
        .into_iter()
        .map(|i| i.target)
        .collect();
    assert_eq!(
        found,
        ["./a", "../b.js", "c", "./lazy", "./mocked", "./effect", "*"]
    );
}
