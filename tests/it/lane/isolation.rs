//! Each level keeps what it promises, and nothing of a run is left alive.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use frostline::lane::environment;
use frostline::lane::process::{self, Cancel, Ended, How, Limits, Order, RunError};
use frostline::lane::sandbox::{Level, Places, Wanted, choose, wrap};

/// A tree and a folder to run in; the tree's only file is `file`.
pub struct Stage {
    _folder: tempfile::TempDir,
    pub places: Places,
}

impl Stage {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (tree, run) = (folder.path().join("tree"), folder.path().join("run"));
        for made in [&tree, &run.join("home"), &run.join("tmp")] {
            std::fs::create_dir_all(made).expect("a new folder");
        }
        std::fs::write(tree.join("file"), "as committed").expect("a written file");
        let places = Places {
            program: PathBuf::from(env!("CARGO_BIN_EXE_frostline")),
            search: std::env::var("PATH").unwrap_or_default(),
            built: folder.path().join("built"),
            tree,
            run,
            hidden: None,
            needed: Vec::new(),
        };
        Self {
            _folder: folder,
            places,
        }
    }

    fn order(&self, level: Level, script: &str) -> Order {
        let argv = ["sh", "-c", script].map(str::to_owned);
        let (argv, wrapped) = wrap(level, &self.places, &argv);
        Order {
            argv,
            env: environment::of_run(&self.places.search, &self.places.run),
            cwd: self.places.tree.clone(),
            limits: Limits {
                timeout_ms: 20_000,
                grace_ms: 300,
                ..Limits::default()
            },
            wrapped,
        }
    }

    fn run(&self, level: Level, script: &str) -> Ended {
        self.obey(&self.order(level, script)).expect("a report")
    }

    fn obey(&self, order: &Order) -> Result<Ended, RunError> {
        process::run(&self.places.program, order, &Cancel::default())
    }
}

/// The levels that work here; bubblewrap and user namespaces must, where CI says so.
fn levels(stage: &Stage) -> Vec<Level> {
    let mut found = Vec::new();
    for level in Level::ALL {
        match choose(Wanted::Required(level), &stage.places, &Cancel::default()) {
            Ok((chosen, _)) if chosen == level => found.push(level),
            Ok((chosen, why)) => {
                assert!(chosen > level, "a stronger one was there: {why:?}");
                // Ask for exactly this one.
                match choose(Wanted::From(level), &stage.places, &Cancel::default()) {
                    Ok((exact, _)) if exact == level => found.push(level),
                    other => missing(level, &format!("{other:?}")),
                }
            }
            Err(error) => missing(level, &error.to_string()),
        }
    }
    found
}

fn missing(level: Level, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{}: {why}", level.name());
    eprintln!("SKIPPED at level {}: {why}", level.name());
}

/// Processes whose command line holds the mark.
pub fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("a /proc");
    entries
        .flatten()
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| {
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                line.starts_with("sleep") && line.contains(mark)
            })
        })
        .count()
}

pub fn unique(base: u32) -> String {
    format!("{base}.{:07}", std::process::id())
}

#[test]
fn every_level_that_works_keeps_its_promises() {
    let stage = Stage::new();
    for level in levels(&stage) {
        let what = level.name();
        let ended = stage.run(level, "echo out; echo err >&2; cat file; exit 7");
        assert_eq!(ended.how, How::Exit(7), "{what}: {}", ended.output);
        for word in ["out", "err", "as committed"] {
            assert!(ended.output.contains(word), "{what}: {}", ended.output);
        }
        let ended = stage.run(
            level,
            "echo x > $TMPDIR/a && echo x > $HOME/b && echo $TZ $LC_ALL",
        );
        assert_eq!(ended.how, How::Exit(0), "{what}: {}", ended.output);
        assert_eq!(ended.output, "UTC C.UTF-8\n", "{what}");
        if level.keeps_the_tree() {
            let outside = stage
                .places
                .tree
                .parent()
                .expect("a parent")
                .join("outside");
            let script = format!(
                "echo x > file; echo x > new; rm -f file; chmod 777 file; echo x > {}",
                outside.display()
            );
            stage.run(level, &script);
            assert_eq!(
                read(&stage.places.tree.join("file")),
                "as committed",
                "{what}"
            );
            assert!(
                !stage.places.tree.join("new").exists() && !outside.exists(),
                "{what}"
            );
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a readable file")
}

#[test]
fn a_grandchild_in_its_own_session_does_not_outlive_the_run() {
    let stage = Stage::new();
    for (at, level) in (0..).zip(levels(&stage)) {
        let mark = unique(3_000 + at);
        let script = format!("setsid sh -c 'sleep {mark} & sleep {mark}' >/dev/null 2>&1 & exit 0");
        let ended = stage.run(level, &script);
        assert_eq!(
            ended.how,
            How::Exit(0),
            "{}: {}",
            level.name(),
            ended.output
        );
        assert_eq!(alive(&mark), 0, "{}", level.name());
    }
}

#[test]
fn a_run_that_is_over_its_time_is_asked_and_then_killed() {
    let stage = Stage::new();
    for (at, level) in (0..).zip(levels(&stage)) {
        let mark = unique(4_000 + at);
        let asked = stage.places.run.join("asked");
        let polite = format!(
            "trap 'echo asked > {}; exit 0' TERM; sleep {mark} & wait",
            asked.display()
        );
        let mut order = stage.order(level, &polite);
        order.limits.timeout_ms = 400;
        let ended = stage.obey(&order).expect("a report");
        assert_eq!(
            ended.how,
            How::TimedOut,
            "{}: {}",
            level.name(),
            ended.output
        );
        assert_eq!(read(&asked), "asked\n", "{}", level.name());
        std::fs::remove_file(&asked).expect("the mark");

        let stubborn = format!("trap '' TERM; sleep {mark}; sleep {mark}; sleep {mark}");
        let mut order = stage.order(level, &stubborn);
        order.limits.timeout_ms = 400;
        let ended = stage.obey(&order).expect("a report");
        assert_eq!(
            ended.how,
            How::TimedOut,
            "{}: {}",
            level.name(),
            ended.output
        );
        assert!(ended.wall_ms < 5_000, "{} ms", ended.wall_ms);
        assert_eq!(alive(&mark), 0, "{}", level.name());
    }
}

#[test]
fn a_gigabyte_of_output_is_counted_and_not_kept() {
    let stage = Stage::new();
    let mut order = stage.order(
        Level::Plain,
        "echo begin; head -c 1000000000 /dev/zero; echo end",
    );
    order.limits.timeout_ms = 60_000;
    let most = std::thread::scope(|scope| {
        let run = scope.spawn(|| stage.obey(&order).expect("a report"));
        let mut most = 0;
        while !run.is_finished() {
            most = most.max(supervisors_memory());
            std::thread::yield_now();
        }
        let ended = run.join().expect("no panic");
        assert_eq!(ended.written, 1_000_000_010);
        assert!(ended.output.starts_with("begin") && ended.output.ends_with("end\n"));
        assert!(ended.output.len() < 300_000);
        most
    });
    assert!(most > 0, "the supervisor was seen");
    assert!(most < 50_000, "{most} kB");
}

/// The most that a supervisor of this process's has had in memory so far; kB.
fn supervisors_memory() -> u64 {
    let own = std::fs::read_dir("/proc/self/task")
        .expect("tasks")
        .flatten();
    own.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|ids| {
            ids.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .filter_map(|id| {
            let line = std::fs::read_to_string(format!("/proc/{id}/cmdline")).ok()?;
            let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
            let peak = status
                .lines()
                .find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.contains("lane-supervise")
                .then(|| peak.trim().trim_end_matches(" kB").parse().ok())?
        })
        .max()
        .unwrap_or(0)
}

#[test]
fn limits_are_those_that_the_order_names() {
    let stage = Stage::new();
    let mut order = stage.order(
        Level::Plain,
        "ulimit -Sa; head -c 3000000 /dev/zero > $TMPDIR/big",
    );
    order.limits.file_bytes = 1_000_000;
    order.limits.open_files = 99;
    order.limits.cpu_seconds = 17;
    let ended = stage.obey(&order).expect("a report");
    assert_ne!(ended.how, How::Exit(0), "{}", ended.output);
    let big = std::fs::metadata(stage.places.run.join("tmp/big")).expect("a file");
    assert_eq!(big.len(), 1_000_000);
    for (limit, value) in [("time", "17"), ("nofiles", "99"), ("coredump", "0")] {
        let line = ended.output.lines().find(|line| line.starts_with(limit));
        assert!(
            line.is_some_and(|line| line.trim_end().ends_with(value)),
            "{}",
            ended.output
        );
    }
}

#[test]
fn no_variable_of_this_process_reaches_a_run() {
    let stage = Stage::new();
    for level in levels(&stage) {
        let ended = stage.run(level, "env | grep -v '^\\(PWD\\|SHLVL\\|OLDPWD\\|_\\)=' | cut -d= -f1 | sort; tr '\\0' '\\n' < /proc/1/environ | cut -d= -f1");
        let allowed = ["HOME", "LC_ALL", "PATH", "TMPDIR", "TZ", "PWD"];
        let own_namespace = level >= Level::UserNamespace;
        if own_namespace {
            for name in ended.output.lines() {
                assert!(allowed.contains(&name), "{}: {name}", level.name());
            }
        }
        assert!(
            ended.output.starts_with("HOME\nLC_ALL\nPATH\nTMPDIR\nTZ\n"),
            "{}",
            ended.output
        );
    }
}

#[test]
fn a_test_cannot_kill_its_parent_out_of_a_namespace() {
    let stage = Stage::new();
    let namespaces = |level: &Level| *level >= Level::UserNamespace;
    for (at, level) in (0..).zip(levels(&stage).into_iter().filter(namespaces)) {
        let mark = unique(5_000 + at);
        let script = format!("setsid sleep {mark} & kill -9 $PPID; kill -9 1; exit 3");
        let ended = stage.run(level, &script);
        assert_eq!(
            ended.how,
            How::Exit(3),
            "{}: {}",
            level.name(),
            ended.output
        );
        assert_eq!(alive(&mark), 0, "{}", level.name());
    }
}

#[test]
fn a_cancelled_run_ends_at_once_with_all_that_it_started() {
    let stage = Stage::new();
    for (at, level) in (0..).zip(levels(&stage)) {
        let mark = unique(6_000 + at);
        let began = stage.places.run.join("began");
        let script = format!(
            "setsid sleep {mark} & : > {}; sleep {mark}",
            began.display()
        );
        let order = stage.order(level, &script);
        let cancel = Cancel::default();
        let started = Instant::now();
        let ended = std::thread::scope(|scope| {
            let run = scope.spawn(|| process::run(&stage.places.program, &order, &cancel));
            while !began.exists() && !run.is_finished() {
                std::thread::yield_now();
            }
            cancel.cancel();
            run.join().expect("no panic").expect("a report")
        });
        assert_eq!(
            ended.how,
            How::Cancelled,
            "{}: {}",
            level.name(),
            ended.output
        );
        assert!(started.elapsed() < Duration::from_secs(10));
        assert_eq!(alive(&mark), 0, "{}", level.name());
        std::fs::remove_file(&began).expect("the mark");
        let after = process::run(&stage.places.program, &order, &cancel).expect("no run");
        assert_eq!(after.how, How::Cancelled, "nothing is started any more");
    }
}

#[test]
fn a_program_that_is_not_there_is_told_from_one_that_fails() {
    let stage = Stage::new();
    let mut order = stage.order(Level::Plain, "");
    order.argv = vec!["/nowhere/python".to_owned()];
    let ended = stage.obey(&order).expect("a report");
    assert_eq!(ended.how, How::NotStarted);
    assert!(ended.output.contains("/nowhere/python"), "{}", ended.output);
}

#[test]
fn a_level_that_is_required_is_never_replaced_by_a_weaker_one() {
    let stage = Stage::new();
    let mut places = stage.places.clone();
    // Without the programs there are no namespaces.
    places.search = "/nowhere".to_owned();
    let cancel = Cancel::default();
    let error = choose(Wanted::Required(Level::UserNamespace), &places, &cancel);
    let text = error.expect_err("no namespace").to_string();
    assert!(
        text.contains("user-namespace") && text.contains("bubblewrap"),
        "{text}"
    );
    let (level, why_not) = choose(Wanted::From(Level::Bubblewrap), &places, &cancel).expect("any");
    assert!(level <= Level::Landlock);
    assert!(why_not.len() >= 2, "{why_not:?}");
}
