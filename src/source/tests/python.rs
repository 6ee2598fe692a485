use super::*;
use crate::model::Generator;

const PY: Language = Language::Python;

#[test]
fn what_skips_a_test_disables_it() {
    all_disabled(
        PY,
        "test_a",
        &[
            "@pytest.mark.skip\ndef test_a(): ...\n",
            "@pytest.mark.skip(reason='x')\ndef test_a(): ...\n",
            "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a(): ...\n",
            "@pytest.mark.xfail(strict=True)\n@given(x)\ndef test_a(x): ...\n",
            "@unittest.skip('x')\ndef test_a(): ...\n",
            "@unittest.skipUnless(x, 'y')\ndef test_a(): ...\n",
            "@unittest.expectedFailure\ndef test_a(): ...\n",
            "from pytest import mark\n@mark.skip\ndef test_a(): ...\n",
            "from pytest import mark as m\n@m.skip()\nasync def test_a(): ...\n",
            "import pytest as p\n@p.mark.skip\ndef test_a(): ...\n",
            "off = pytest.mark.skip\n@off\ndef test_a(): ...\n",
            "windows = pytest.mark.skipif(True, reason='')\n@windows\ndef test_a(): ...\n",
            "m = pytest.mark\noff = m.skip\nworse = off\n@worse(reason='')\ndef test_a(): ...\n",
            "from unittest import skip as s\n@s('x')\ndef test_a(): ...\n",
            "@(pytest.mark.skip)\ndef test_a(): ...\n",
            "from helpers import skip_on_windows\n@skip_on_windows\ndef test_a(): ...\n",
            "@pytest.fixture\ndef test_a(): ...\n",
            "pytestmark = pytest.mark.skip\ndef test_a(): ...\n",
            "pytestmark = [pytest.mark.slow, pytest.mark.skipif(x)]\ndef test_a(): ...\n",
            "pytestmark: list = [pytest.mark.skip]\ndef test_a(): ...\n",
            "pytestmark = pytest.mark.skip() if x else []\ndef test_a(): ...\n",
            "OFF = [pytest.mark.skip]\npytestmark = OFF\ndef test_a(): ...\n",
            "pytestmark = []\npytestmark += [pytest.mark.skip]\ndef test_a(): ...\n",
            "pytestmark = []\npytestmark.append(pytest.mark.skip)\ndef test_a(): ...\n",
            "if x:\n    pytestmark = pytest.mark.skip\ndef test_a(): ...\n",
            "pytest.importorskip('numpy')\ndef test_a(): ...\n",
            "np = pytest.importorskip('numpy')\ndef test_a(): ...\n",
            "pytest.skip('x', allow_module_level=True)\ndef test_a(): ...\n",
            "if sys.platform == 'x':\n    pytest.skip('x', allow_module_level=True)\ndef test_a(): ...\n",
            "try:\n    import x\nexcept ImportError:\n    pytest.skip('x', allow_module_level=True)\ndef test_a(): ...\n",
            "def test_a():\n    pytest.skip('x')\n",
            "def test_a():\n    '''Doc.'''\n    import y\n    pytest.skip('x')\n",
            "def test_a():\n    x = 1\n    pytest.skip('x')\n    assert x\n",
            "from pytest import skip\ndef test_a():\n    skip('x')\n",
            "def test_a():\n    pytest.xfail('x')\n",
            "def test_a():\n    raise unittest.SkipTest\n",
            "def test_a():\n    raise pytest.skip.Exception('x')\n",
            "def test_a():\n    if sys.platform == 'win32':\n        pytest.skip('x')\n    assert 1\n",
            "def test_a():\n    return\n    assert 0\n",
            "__test__ = False\ndef test_a(): ...\n",
            "def test_a(): ...\ntest_a.__test__ = False\n",
            "def test_a(): ...\ntest_a.pytestmark = [pytest.mark.skip]\n",
            "@pytest.fixture(autouse=True)\ndef f():\n    pytest.skip('x')\ndef test_a(): ...\n",
            "def setup_module(m):\n    pytest.skip('x')\ndef test_a(): ...\n",
            "@pytest.mark.parametrize('x', [])\ndef test_a(x): ...\n",
            "@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.skip)])\ndef test_a(x): ...\n",
        ],
    );
}

#[test]
fn what_is_rebound_dead_or_conditional_is_disabled() {
    all_disabled(
        PY,
        "test_a",
        &[
            "def test_a(): ...\ntest_a = None\n",
            "def test_a(): ...\ndel test_a\n",
            "def test_a(): ...\ndel (x, test_a)\n",
            "def test_a(): ...\nx, test_a = 1, 2\n",
            "def test_a(): ...\nfrom x import y as test_a\n".trim_end(),
            "def test_a(): ...\nfor test_a in []: pass\n",
            "def test_a(): ...\nif x:\n    test_a = None\n",
            "if False:\n    def test_a(): ...\n",
            "if 0:\n    def test_a(): ...\n",
            "if not True:\n    def test_a(): ...\n",
            "if TYPE_CHECKING:\n    def test_a(): ...\n",
            "if typing.TYPE_CHECKING:\n    def test_a(): ...\n",
            "if __name__ == '__main__':\n    def test_a(): ...\n",
            "if True:\n    pass\nelse:\n    def test_a(): ...\n",
            "if sys.platform == 'x':\n    def test_a(): ...\n",
            "if sys.platform == 'x':\n    pass\nelse:\n    def test_a(): ...\n",
            "while False:\n    def test_a(): ...\n",
            "for x in y:\n    def test_a(): ...\n",
            "try:\n    def test_a(): ...\nexcept E:\n    pass\n",
            "with x:\n    def test_a(): ...\n",
            "match x:\n    case 1:\n        def test_a(): ...\n",
            "raise RuntimeError\ndef test_a(): ...\n",
            "def test_a(): ...\nsys.exit()\n",
            "import pytest\npytest.exit('x')\ndef test_a(): ...\n",
        ],
    );
    assert_eq!(
        state(
            PY,
            "def test_a():\n    assert 0\n\ndef test_a():\n    pass\n",
            "test_a"
        ),
        "runs",
        "the last definition is the one that runs"
    );
    let facts = facts(
        PY,
        "def test_a():\n    assert 0\n\ndef test_a():\n    pass\n",
    );
    assert_eq!(
        facts.items[0].disabled.as_ref().map(|d| d.why.as_str()),
        Some("replaced by a later definition at line 4")
    );
}

#[test]
fn what_disables_a_class_disables_its_methods() {
    all_disabled(
        PY,
        "TestX::test_a",
        &[
            "@pytest.mark.skip\nclass TestX:\n    def test_a(self): ...\n",
            "class TestX:\n    pytestmark = pytest.mark.skip\n    def test_a(self): ...\n",
            "class TestX:\n    __test__ = False\n    def test_a(self): ...\n",
            "class TestX:\n    def test_a(self): ...\nTestX.__test__ = False\n",
            "class TestX:\n    def test_a(self): ...\nTestX.test_a = None\n",
            "class TestX:\n    def test_a(self): ...\ndel TestX.test_a\n",
            "class TestX:\n    def test_a(self): ...\nTestX = None\n",
            "class TestX:\n    def __init__(self): ...\n    def test_a(self): ...\n",
            "class TestX(unittest.TestCase):\n    def setUp(self):\n        self.skipTest('x')\n    def test_a(self): ...\n",
            "class TestX(unittest.TestCase):\n    def test_a(self):\n        self.skipTest('x')\n",
            "class TestX:\n    if x:\n        def test_a(self): ...\n",
            "class TestX:\n    def test_a(self): ...\n    test_a = None\n",
            "class B:\n    __test__ = False\n    def test_a(self): ...\nclass TestX(B): ...\n",
            "@unittest.skip('')\nclass B:\n    def test_a(self): ...\nclass TestX(B): ...\n",
            "class B:\n    @pytest.mark.skip\n    def test_a(self): ...\nclass TestX(B): ...\n",
            "pytestmark = pytest.mark.skip\nclass TestX:\n    def test_a(self): ...\n",
        ],
    );
    all_run(
        PY,
        "TestX::test_a",
        &[
            "class TestX:\n    def test_a(self): ...\n",
            "class B:\n    def test_a(self): ...\nclass TestX(B): ...\n",
            "class A:\n    def test_a(self): ...\nclass B(A): ...\nclass TestX(B, object): ...\n",
            "class B:\n    __test__ = False\n    def test_a(self): ...\nclass TestX(B):\n    __test__ = True\n",
            "class TestX:\n    class Inner:\n        pytestmark = pytest.mark.skip\n    def test_a(self): ...\n",
        ],
    );
}

#[test]
fn a_test_that_runs_is_no_false_alarm() {
    all_run(
        PY,
        "test_a",
        &[
            "def test_a(): ...\n",
            "async def test_a(): ...\n",
            "@given(st.integers())\n@settings(max_examples=3)\ndef test_a(x): ...\n",
            "@pytest.mark.slow\ndef test_a(): ...\n",
            "if True:\n    def test_a(): ...\n",
            "if not TYPE_CHECKING:\n    def test_a(): ...\n",
            "def test_a(): ...\nif __name__ == '__main__':\n    sys.exit(pytest.main())\n",
            "try:\n    import x\nexcept ImportError:\n    raise\ndef test_a(): ...\n",
            "def test_a():\n    reader.skip(4)\n    assert reader\n",
            "def f():\n    pytest.skip('x')\ndef test_a(): ...\n",
            "'''\npytestmark = pytest.mark.skip\n'''\ndef test_a(): ...\n",
            "pytestmark = pytest.mark.property\ndef test_a(): ...\n",
            "@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.skip)])\ndef test_a(x): ...\n",
            "test_a = given(st.integers())(check)\n",
        ],
    );
}

#[test]
fn definitions_in_functions_and_strings_are_no_items() {
    for text in [
        "def f():\n    def test_a(): ...\n",
        "x = '''\ndef test_a(): ...\n'''\n",
        "# def test_a(): ...\n",
        "class TestX:\n    def test_a(self): ...\n",
        "def test_ab(): ...\n",
    ] {
        assert_eq!(state(PY, text, "test_a"), "nothing", "{text}");
    }
}

#[test]
fn tests_from_another_file_are_not_known() {
    for (text, names) in [
        (
            "class TestX(Mixin):\n    def test_b(self): ...\n",
            "TestX::test_a",
        ),
        ("from shared import test_a\n", "test_a"),
    ] {
        assert_eq!(state(PY, text, names), "computed", "{text}");
    }
    let text = "class TestX(unittest.TestCase):\n    def test_b(self): ...\n";
    assert_eq!(state(PY, text, "TestX::test_a"), "nothing");
}

#[test]
fn skipped_rows_carry_their_id() {
    let text = "\
SLOW = pytest.mark.skip
CASES = [
    1,
    pytest.param(2, marks=pytest.mark.xfail, id='two'),
    pytest.param(3, marks=[pytest.mark.x, SLOW]),
    pytest.param(4, id='four'),
]
@pytest.mark.parametrize('x', CASES)
def test_a(x): ...
@pytest.mark.parametrize('x', [pytest.param(1, marks=SLOW), 2], ids=['one', 'two'])
def test_b(x): ...
";
    let rows = |names| {
        item(PY, text, names)
            .skipped_rows
            .into_iter()
            .map(|row| (row.line, row.id))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows("test_a"), [(4, Some("two".to_owned())), (5, None)]);
    assert_eq!(rows("test_b"), [(10, Some("one".to_owned()))]);
}

#[test]
fn generators_and_seeds_are_seen() {
    for (text, names, generator, seed) in [
        ("@given(x)\ndef test_a(x): ...\n", "test_a", true, None),
        (
            "@hypothesis.given(x)\ndef test_a(x): ...\n",
            "test_a",
            true,
            None,
        ),
        (
            "from hypothesis import given as g\n@g(x)\ndef test_a(x): ...\n",
            "test_a",
            true,
            None,
        ),
        (
            "@seed(4)\n@given(x)\ndef test_a(x): ...\n",
            "test_a",
            true,
            Some(1),
        ),
        (
            "@given(x)\n@reproduce_failure('6', b'x')\ndef test_a(x): ...\n",
            "test_a",
            true,
            Some(2),
        ),
        (
            "@settings(derandomize=True)\n@given(x)\ndef test_a(x): ...\n",
            "test_a",
            true,
            Some(1),
        ),
        (
            "@settings(derandomize=False)\ndef test_a(x): ...\n",
            "test_a",
            false,
            None,
        ),
        (
            "def test_a():\n    random.seed(1)\n",
            "test_a",
            false,
            Some(2),
        ),
        (
            "def test_a():\n    np.random.seed(1)\n",
            "test_a",
            false,
            Some(2),
        ),
        ("def test_a():\n    random.seed(x)\n", "test_a", false, None),
        (
            "class M(RuleBasedStateMachine): ...\nTestM = M.TestCase\n",
            "TestM::runTest",
            true,
            None,
        ),
    ] {
        let found = item(PY, text, names);
        let expected = generator.then_some(Generator::Hypothesis);
        assert_eq!((found.generator, found.seed), (expected, seed), "{text}");
    }
}

const MODULE: &str = "\
import helpers

LIMIT = 3

def text():
    return st.text(max_size=LIMIT)

@given(text())
def test_a(x):
    assert x

class TestX:
    size = 2

    def test_b(self):
        assert self.size
";

#[test]
fn a_test_keeps_its_context_when_another_is_added_changed_or_taken_away() {
    let before = [
        item(PY, MODULE, "test_a"),
        item(PY, MODULE, "TestX::test_b"),
    ];
    for changed in [
        MODULE.replace(
            "LIMIT = 3\n",
            "LIMIT = 3\n\n\n# about c\ndef test_c():\n    pass\n\n",
        ),
        MODULE.replace(
            "class TestX",
            "class TestY:\n    size = 3\n    def test_b(self): ...\n\nclass TestX",
        ),
        MODULE.replace(
            "    def test_b",
            "    def test_bb(self): ...\n\n    def test_b",
        ),
        format!("{MODULE}\ndef test_z():\n    assert 0\n"),
    ] {
        let after = [
            item(PY, &changed, "test_a"),
            item(PY, &changed, "TestX::test_b"),
        ];
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before.text, after.text, "{changed}");
            assert_eq!(before.context, after.context, "{changed}");
        }
        assert_eq!(facts(PY, MODULE).rest, facts(PY, &changed).rest);
    }
    let without = MODULE.replace("@given(text())\ndef test_a(x):\n    assert x\n", "");
    assert_eq!(
        before[1].context,
        item(PY, &without, "TestX::test_b").context
    );
}

#[test]
fn a_changed_helper_import_or_class_changes_the_context() {
    let before = [
        item(PY, MODULE, "test_a"),
        item(PY, MODULE, "TestX::test_b"),
    ];
    for (from, to, reaches) in [
        ("LIMIT = 3", "LIMIT = 0", [true, true]),
        ("import helpers", "import other as helpers", [true, true]),
        ("st.text", "st.just", [true, true]),
        ("size = 2", "size = 1", [false, true]),
        ("class TestX", "@mark\nclass TestX", [false, true]),
        ("LIMIT = 3", "LIMIT = 3\nst.text = None", [true, true]),
    ] {
        let changed = MODULE.replace(from, to);
        let after = [
            item(PY, &changed, "test_a"),
            item(PY, &changed, "TestX::test_b"),
        ];
        let moved = [0, 1].map(|at| before[at].context != after[at].context);
        assert_eq!(moved, reaches, "{from} to {to}");
    }
}

#[test]
fn a_test_that_another_uses_is_a_helper_too() {
    let text = "def test_base(x=0):\n    assert x == x\n\ndef test_a():\n    test_base(3)\n";
    let changed = text.replace("assert x == x", "pass");
    assert_ne!(
        item(PY, text, "test_a").context,
        item(PY, &changed, "test_a").context
    );
}

#[test]
fn a_renamed_test_keeps_its_shape() {
    let renamed = MODULE.replace("test_a", "test_renamed");
    let (before, after) = (
        item(PY, MODULE, "test_a"),
        item(PY, &renamed, "test_renamed"),
    );
    assert_eq!(before.shape, after.shape);
    assert_ne!(before.text, after.text);
    let edited = MODULE.replace("    assert x\n", "    assert not x\n");
    assert_ne!(before.shape, item(PY, &edited, "test_a").shape);
}

#[test]
fn text_in_another_encoding_is_broken() {
    for (text, line) in [
        ("# -*- coding: utf-7 -*-\n", Some(1)),
        (
            "#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\n",
            Some(2),
        ),
        ("# -*- coding: UTF-8 -*-\n", None),
        ("x = 'coding: latin-1'\n", None),
    ] {
        assert_eq!(read(PY, text.as_bytes()).broken, line, "{text}");
    }
}

#[test]
fn imports_are_kept_as_written() {
    let text = "\
import a.b as c, d
from . import helpers
from ..pkg.mod import x as y, z
from q import *
pytest_plugins = ['plug.one', \"two\"]
def f():
    import late
    importlib.import_module('dyn.amic')
";
    let found: Vec<String> = facts(PY, text)
        .imports
        .into_iter()
        .map(|i| format!("{} {} {}", i.line, i.target, i.names.join(",")))
        .collect();
    assert_eq!(
        found,
        [
            "1 a.b ",
            "1 d ",
            "2 . helpers",
            "3 ..pkg.mod x,z",
            "4 q ",
            "5 plug.one ",
            "5 two ",
            "7 late ",
            "8 dyn.amic ",
        ]
    );
}
