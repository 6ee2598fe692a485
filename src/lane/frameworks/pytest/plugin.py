"""Tells Frostline what pytest did with one test, a line of JSON for each thing.

Loaded with `-p` under a name that no repository can guess. It changes no outcome, with one exception:
a skip that a hook of the repository gives to frozen tests is taken off again, because frozen tests run
here. Works from Python 3.7 and pytest 6 on.
"""

import json
import os
import re
import sys

import pytest

_REPORT = os.open(
    os.environ.pop("FROSTLINE_LANE_REPORT"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
)
_TREE = os.environ.pop("FROSTLINE_LANE_TREE")
_FOREIGN = os.environ.pop("FROSTLINE_LANE_FOREIGN", "")
_STREAM = os.environ.pop("FROSTLINE_LANE_STREAM", "")
_RANDOM = os.environ.pop("FROSTLINE_LANE_RANDOM", "")
_PID = os.getpid()
_LONGEST = 64 * 1024
_MOST = 64
# Rows of generated values that a stream is told by.
_VALUES = 100
_FREEZE = re.compile(r"freez|froze|flak|quarantin|ledger", re.IGNORECASE)
_EXAMPLE = re.compile(r"^(?:Falsifying|Failing)(?: explicit)? (?:example|test case):\s*")
_SKIPS = ("skip", "skipif", "xfail")


def _tell(row, **more):
    # A test may fork, and its child run on into the rest of the session.
    if os.getpid() != _PID:
        return
    more["row"] = row
    line = json.dumps(more, ensure_ascii=True, default=repr) + "\n"
    data = line.encode("ascii")
    while data:
        data = data[os.write(_REPORT, data) :]


def _version(name):
    module = sys.modules.get(name)
    version = getattr(module, "__version__", None)
    return version if isinstance(version, str) else None


def _flat(error, depth=0):
    """The exception, and those that it groups, depth first."""
    found = [error]
    inner = getattr(error, "exceptions", None)
    if isinstance(inner, (tuple, list)) and depth < 8:
        for one in inner:
            if isinstance(one, BaseException) and len(found) < _MOST:
                found.extend(_flat(one, depth + 1))
    return found[:_MOST]


def _frames(error):
    found = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        path = os.path.relpath(os.path.join(_TREE, code.co_filename), _TREE)
        if not path.startswith("..") and "site-packages" not in path:
            found.append({"file": path, "function": code.co_name, "line": trace.tb_lineno})
        trace = trace.tb_next
    return found[-_MOST:]


def _text(value):
    try:
        text = str(value)
    except Exception as error:  # the test's own __str__
        text = "<no text: " + type(error).__name__ + ">"
    text = text[:_LONGEST].replace(_TREE + os.sep, "")
    for name, stands_for in (("TMPDIR", "/tmp/run"), ("HOME", "/home/run")):
        folder = os.environ.get(name)
        if folder and len(folder) > 1:
            text = text.replace(folder, stands_for)
    return text


def _example(errors):
    for error in errors:
        for note in getattr(error, "__notes__", None) or ():
            if isinstance(note, str) and _EXAMPLE.match(note):
                return _text(_EXAMPLE.sub("", note, count=1))
    return None


def _failure(error):
    errors = _flat(error)
    leaf = next((e for e in errors if not getattr(e, "exceptions", None)), error)
    return {
        "exceptions": [type(e).__name__ for e in errors],
        "frames": _frames(leaf) or _frames(error),
        "message": _text(leaf),
        "example": _example([leaf] + errors),
    }


def _seed_state(item):
    """Whether the item's generator takes a seed from outside."""
    function = getattr(item, "obj", None)
    if not getattr(function, "is_hypothesis_test", False):
        plugins = item.config.pluginmanager
        randomly = plugins.hasplugin("randomly") or plugins.hasplugin("pytest_randomly")
        return "randomly" if randomly else "no-generator"
    if getattr(function, "_hypothesis_internal_use_seed", None) is not None:
        return "seed-in-source"
    import hypothesis

    settings = getattr(function, "_hypothesis_internal_use_settings", None)
    if (settings or hypothesis.settings.default).derandomize:
        return "derandomize"
    return "hypothesis"


def _pass_whatever_fails(item):
    """The stream of values must not hang on where a test fails."""
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    inner = getattr(handle, "inner_test", None)
    if inner is None:
        return

    def outer(*args, **kwargs):
        try:
            return inner(*args, **kwargs)
        except Exception as error:
            if type(error).__module__.startswith("hypothesis"):
                raise
            return None

    handle.inner_test = outer


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    before = [(item, list(item.own_markers)) for item in items]
    yield
    neutralised = []
    left = {item.nodeid for item in items}
    items.extend(item for item, _ in before if item.nodeid not in left)
    own = {id(item): markers for item, markers in before}
    for item in items:
        markers = own.get(id(item), item.own_markers)
        for mark in list(item.own_markers):
            added = all(mark is not old for old in markers)
            said = str(mark.kwargs.get("reason", "")) + " ".join(map(str, mark.args))
            if added and mark.name in _SKIPS and _FREEZE.search(said):
                item.own_markers.remove(mark)
                neutralised.append(said[:200])
    _tell(
        "collected",
        ids=[item.nodeid for item in items[:_MOST]],
        count=len(items),
        seed=_seed_state(items[0]) if len(items) == 1 else None,
        neutralised=neutralised[:_MOST],
    )
    if _STREAM and len(items) == 1:
        _pass_whatever_fails(items[0])


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    row = {
        "id": item.nodeid,
        "phase": report.when,
        "outcome": report.outcome,
        "xfail": hasattr(report, "wasxfail"),
        "seconds": report.duration,
    }
    error = call.excinfo.value if call.excinfo is not None else None
    if report.outcome == "skipped":
        longrepr = report.longrepr
        reason = longrepr[-1] if isinstance(longrepr, tuple) else getattr(report, "wasxfail", "")
        row["message"] = _text(reason)
    elif error is not None:
        row.update(_failure(error))
    elif report.outcome == "failed":
        row.update(exceptions=["Failed"], frames=[], message=_text(report.longrepr), example=None)
    report.told_to_frostline = True
    _tell("phase", **row)


def pytest_runtest_logreport(report):
    # Subtests report for themselves.
    if report.failed and not getattr(report, "told_to_frostline", False):
        _tell("part", id=report.nodeid, outcome="failed", message=_text(report.longrepr)[:2000])


def _pin_random():
    """The same random numbers in each run, for whoever seeds none."""
    import random

    random.seed(1)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(1)


if _RANDOM:
    # Modules draw while they are imported, too.
    _pin_random()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if _RANDOM:
        _pin_random()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    if _RANDOM:
        _pin_random()
    # After pytest-randomly has seeded: what a test without a generator of its own draws from.
    if _STREAM and _seed_state(item) == "randomly":
        import random

        _STATES.append(repr(random.getstate()))
    yield


_STATES = []


def _stream():
    """A digest of the values that were generated, in their order."""
    import glob
    import hashlib

    digest, count = hashlib.sha256(), 0
    for state in _STATES:
        digest.update(state.encode("ascii") + b"\0")
        count += 1
    folder = os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY", "")
    for path in sorted(glob.glob(os.path.join(folder, "observed", "*_testcases.jsonl"))):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if row.get("type") == "test_case" and count < _VALUES:
                    digest.update(str(row.get("representation")).encode("utf-8") + b"\0")
                    count += 1
    return {"sha256": digest.hexdigest(), "values": count}


def _foreign():
    """Modules of the user's own checkout: they are not of the tree that is judged."""
    if not _FOREIGN:
        return []
    allowed = [sys.prefix, sys.base_prefix, sys.exec_prefix, _TREE]
    found = []
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if not isinstance(path, str):
            continue
        path = os.path.realpath(path)
        if path.startswith(_FOREIGN + os.sep) and not any(
            path.startswith(os.path.realpath(folder) + os.sep) for folder in allowed
        ):
            found.append(path)
    return sorted(found)[:5]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    if _STREAM:
        _tell("stream", **_stream())
    _tell(
        "end",
        status=int(exitstatus),
        python="%d.%d.%d" % sys.version_info[:3],
        pytest=pytest.__version__,
        hypothesis=_version("hypothesis"),
        foreign=_foreign(),
    )
