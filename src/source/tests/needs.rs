use std::collections::BTreeSet;

use super::*;
use crate::model::Import;

struct Tree(BTreeSet<String>);

impl Tree {
    fn of(paths: &[&str]) -> Self {
        Self(paths.iter().map(|path| (*path).to_owned()).collect())
    }
}

impl Files for Tree {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    fn files_in(&self, dir: &str) -> Vec<String> {
        let paths = self.0.iter();
        paths
            .filter(|path| path.rsplit_once('/').map_or("", |(dir, _)| dir) == dir)
            .cloned()
            .collect()
    }

    fn has_dir(&self, dir: &str) -> bool {
        self.0.iter().any(|path| {
            path.strip_prefix(dir)
                .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

fn needed(path: &str, text: &str, tree: &[&str]) -> Vec<String> {
    let language = Language::of_path(path).expect("a language");
    let mut all = tree.to_vec();
    all.push(path);
    needs(language, path, &facts(language, text), &Tree::of(&all))
}

#[test]
fn what_loads_code_by_a_path_that_cannot_be_read_says_so() {
    let loads_anything = |path: &str, text: &str| {
        let language = Language::of_path(path).expect("a language");
        let imports = facts(language, text).imports;
        imports
            .iter()
            .any(|import| import.target == Import::ANYTHING)
    };
    for (path, text) in [
        ("a.py", "runpy.run_path(x)\n"),
        ("a.py", "exec(compile(t, p, 'exec'))\n"),
        ("a.py", "def f():\n    return __import__(name)\n"),
        ("a.py", "m = importlib.import_module(f'a.{b}')\n"),
        ("a.py", "pytest_plugins = PLUGINS\n"),
        (
            "a.py",
            "importlib.machinery.SourceFileLoader('a', p).load_module()\n",
        ),
        ("a.js", "const load = createRequire(import.meta.url);\n"),
        ("a.js", "const x = require(path.join(__dirname, 'x'));\n"),
        ("a.ts", "const x = await import(`./${name}`);\n"),
        ("a.ts", "const all = import.meta.glob('./*.ts');\n"),
        ("a.js", "new Worker(new URL('./w.js', import.meta.url));\n"),
        ("a.js", "vm.runInNewContext(text);\n"),
        ("a.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/x.rs\"));\n"),
        (
            "a.rs",
            "#[cfg_attr(test, path = \"x.rs\")]\nmod x;\nuse x::y;\n",
        ),
        (
            "a.rs",
            "mod a { #[path = \"x.rs\"]\nmod x; pub use x::y; }\n",
        ),
    ] {
        assert!(loads_anything(path, text), "{text}");
    }
    for (path, text) in [
        ("a.py", "import a\nb = importlib.import_module('a.b')\n"),
        ("a.py", "pytest_plugins = ['a', \"b\"]\n"),
        ("a.py", "re.compile('x').find('exec(1)')\n"),
        (
            "a.js",
            "require('./x'); import('./y'); require.resolve(z);\n",
        ),
        ("a.js", "const s = import.meta.url;\n"),
        (
            "a.rs",
            "include!(\"x.rs\");\n#[path = \"y.rs\"]\nmod y;\nuse y::z;\n",
        ),
    ] {
        assert!(!loads_anything(path, text), "{text}");
    }
}

#[test]
fn python_modules_are_looked_for_wherever_they_could_be() {
    let tree = [
        "tests/__init__.py",
        "tests/helpers.py",
        "tests/strategies/__init__.py",
        "tests/strategies/text.py",
        "tests/properties/local.py",
        "tests/properties/__init__.py",
        "src/pkg/__init__.py",
        "src/pkg/testing.py",
        "plug.py",
        "unrelated.py",
    ];
    for (text, expected) in [
        ("import local\n", vec!["tests/properties/local.py"]),
        (
            "from . import local\n",
            vec!["tests/properties/__init__.py", "tests/properties/local.py"],
        ),
        (
            "from ..strategies.text import x\n",
            vec!["tests/strategies/__init__.py", "tests/strategies/text.py"],
        ),
        (
            "from .. import helpers\n",
            vec!["tests/__init__.py", "tests/helpers.py"],
        ),
        (
            "from strategies import text\n",
            vec!["tests/strategies/__init__.py", "tests/strategies/text.py"],
        ),
        (
            "import tests.helpers\n",
            vec!["tests/__init__.py", "tests/helpers.py"],
        ),
        (
            "from pkg.testing import x\n",
            vec!["src/pkg/__init__.py", "src/pkg/testing.py"],
        ),
        ("from helpers import *\n", vec!["tests/helpers.py"]),
        ("pytest_plugins = ['plug']\n", vec!["plug.py"]),
        ("def f():\n    import helpers\n", vec!["tests/helpers.py"]),
        ("from ..... import helpers\n", vec![]),
        ("import os\n", vec![]),
    ] {
        assert_eq!(
            needed("tests/properties/test_a.py", text, &tree),
            expected,
            "{text}"
        );
    }
}

#[test]
fn rust_modules_are_looked_for_beside_below_and_above() {
    let tests = [
        "Cargo.toml",
        "tests/common/mod.rs",
        "tests/common/strategies.rs",
        "tests/shared.rs",
        "tests/it/main.rs",
        "tests/it/other.rs",
        "tests/it/props/mod.rs",
        "tests/it/props/gen.rs",
        "src/lib.rs",
        "src/testing.rs",
        "src/lex/mod.rs",
        "src/lex/arb.rs",
        "src/lex.rs",
    ];
    for (path, text, expected) in [
        (
            "tests/a.rs",
            "mod common;\nuse common::strategies::x;\n",
            vec!["tests/common/mod.rs", "tests/common/strategies.rs"],
        ),
        (
            "tests/a.rs",
            "#[path = \"shared.rs\"]\nmod s;\nfn f() { s::g(); }\n",
            vec!["tests/shared.rs"],
        ),
        (
            "tests/a.rs",
            "include!(\"../src/testing.rs\");\n",
            vec!["src/testing.rs"],
        ),
        ("tests/a.rs", "include!(\"../../../etc/passwd\");\n", vec![]),
        (
            "tests/it/props/a.rs",
            "use super::r#gen::x;\n",
            vec![
                "tests/it/main.rs",
                "tests/it/props/gen.rs",
                "tests/it/props/mod.rs",
            ],
        ),
        (
            "tests/it/props/a.rs",
            "use crate::other::x;\n",
            vec![
                "tests/it/main.rs",
                "tests/it/other.rs",
                "tests/it/props/mod.rs",
            ],
        ),
        (
            "src/lex/tok.rs",
            "use super::arb::x;\n",
            vec![
                "src/lex.rs",
                "src/lex/arb.rs",
                "src/lex/mod.rs",
                "src/lib.rs",
            ],
        ),
        (
            "src/lex/tok.rs",
            "fn f() { crate::testing::g(); }\n",
            vec![
                "src/lex.rs",
                "src/lex/mod.rs",
                "src/lib.rs",
                "src/testing.rs",
            ],
        ),
    ] {
        assert_eq!(needed(path, text, &tests), expected, "{path}: {text}");
    }
}

#[test]
fn javascript_specifiers_are_resolved_as_runners_do() {
    let tree = [
        "src/gen.ts",
        "src/util/index.ts",
        "src/util/deep.tsx",
        "test/data.json",
        "test/helper.mjs",
        "unrelated.ts",
    ];
    for (text, expected) in [
        ("import '../src/gen';\n", vec!["src/gen.ts"]),
        ("import '../src/gen.js';\n", vec!["src/gen.ts"]),
        ("import '../src/util';\n", vec!["src/util/index.ts"]),
        (
            "export * from '../src/util/deep.jsx';\n",
            vec!["src/util/deep.tsx"],
        ),
        ("import d from './data.json';\n", vec!["test/data.json"]),
        ("const h = require('./helper');\n", vec!["test/helper.mjs"]),
        ("import x from '@/gen';\n", vec!["src/gen.ts"]),
        ("import x from 'src/gen';\n", vec!["src/gen.ts"]),
        ("import '../../../gen';\n", vec![]),
        ("import 'react';\n", vec![]),
    ] {
        assert_eq!(needed("test/a.test.ts", text, &tree), expected, "{text}");
    }
}

#[test]
fn go_packages_are_directories() {
    let tree = [
        "p/b_test.go",
        "p/p.go",
        "internal/testutil/gen.go",
        "internal/testutil/gen_test.go",
        "testutil/other.go",
        "q/q_test.go",
    ];
    let text = "package p\n\nimport \"example.com/m/internal/testutil\"\n";
    assert_eq!(
        needed("p/a_test.go", text, &tree),
        [
            "internal/testutil/gen.go",
            "internal/testutil/gen_test.go",
            "p/b_test.go"
        ]
    );
    let text = "package p\n\nimport \"../q\"\n";
    assert_eq!(
        needed("p/a_test.go", text, &tree),
        ["p/b_test.go", "q/q_test.go"]
    );
}
