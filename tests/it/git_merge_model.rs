//! The merged tree against git's own: wherever one is given, it is the tree that `git merge-tree` writes.
//!
//! Hundreds of small histories with renames, deletions, mode and type changes, moved directories and
//! criss-cross merges, from a fixed seed.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use frostline::model::Fact;

use crate::git_support::{gather, request};
use crate::support::repo::{TestRepo, command};

/// A small generator with a fixed sequence (SplitMix64), so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % sides as u64).expect("below sides")
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }
}

#[derive(Clone, PartialEq)]
struct File {
    mode: &'static str,
    lines: Vec<String>,
}

type Files = BTreeMap<String, File>;

const FOLDERS: &[&str] = &["", "a/", "a/b/", "c/", "d/e/"];
const NAMES: &[&str] = &["one", "two", "three.py", "four.py", "five", "six.txt"];

fn lines(dice: &mut Dice, many: usize) -> Vec<String> {
    (0..many)
        .map(|_| match dice.roll(5) {
            0 => "}".to_owned(),
            1 => String::new(),
            2 => format!("    call({})", dice.roll(4)),
            _ => format!("line {} {}", dice.roll(40), "x".repeat(dice.roll(12))),
        })
        .collect()
}

fn new_file(dice: &mut Dice) -> File {
    let many = 1 + dice.roll(24);
    File {
        mode: "100644",
        lines: lines(dice, many),
    }
}

fn new_path(dice: &mut Dice, files: &Files) -> Option<String> {
    let path = format!("{}{}{}", dice.pick(FOLDERS), dice.pick(NAMES), dice.roll(3));
    let free = files.keys().all(|other| {
        *other != path
            && !other.starts_with(&format!("{path}/"))
            && !path.starts_with(&format!("{other}/"))
    });
    free.then_some(path)
}

fn edit(dice: &mut Dice, file: &mut File) {
    if file.mode == "120000" {
        file.lines = vec![format!("target{}", dice.roll(3))];
        return;
    }
    for _ in 0..=dice.roll(3) {
        let at = dice.roll(file.lines.len() + 1);
        match dice.roll(3) {
            0 => file.lines.insert(at, format!("new {}", dice.roll(9))),
            1 if at < file.lines.len() => file.lines[at] = format!("changed {}", dice.roll(9)),
            _ if at < file.lines.len() && file.lines.len() > 1 => {
                file.lines.remove(at);
            }
            _ => {}
        }
    }
}

fn change(dice: &mut Dice, files: &mut Files) {
    let paths: Vec<String> = files.keys().cloned().collect();
    let Some(path) = (!paths.is_empty()).then(|| dice.pick(&paths).clone()) else {
        return;
    };
    match dice.roll(16) {
        0..=5 => edit(dice, files.get_mut(&path).expect("picked")),
        6..=7 => {
            files.remove(&path);
        }
        8..=9 => {
            if let Some(to) = new_path(dice, files) {
                let mut file = files.remove(&path).expect("picked");
                if dice.roll(2) == 0 {
                    edit(dice, &mut file);
                }
                files.insert(to, file);
            }
        }
        10..=11 => {
            if let Some(to) = new_path(dice, files) {
                let file = if dice.roll(3) == 0 {
                    files[&path].clone()
                } else {
                    new_file(dice)
                };
                files.insert(to, file);
            }
        }
        12 => {
            let file = files.get_mut(&path).expect("picked");
            file.mode = match file.mode {
                "100644" => "100755",
                "100755" => "100644",
                other => other,
            };
        }
        13 => {
            let link = File {
                mode: "120000",
                lines: vec!["target".to_owned()],
            };
            files.insert(path, link);
        }
        14 => {
            let inner = files.remove(&path).expect("picked");
            files.insert(format!("{path}/inner"), inner);
        }
        _ => move_folder(dice, files),
    }
}

fn move_folder(dice: &mut Dice, files: &mut Files) {
    let from = *dice.pick(&FOLDERS[1..]);
    let to = format!("moved{}/", dice.roll(2));
    let inside: Vec<String> = files
        .keys()
        .filter(|path| path.starts_with(from))
        .cloned()
        .collect();
    for path in inside {
        let file = files.remove(&path).expect("listed");
        files.insert(format!("{to}{}", &path[from.len()..]), file);
    }
}

fn changed(dice: &mut Dice, files: &Files, most: usize) -> Files {
    let mut files = files.clone();
    for _ in 0..=dice.roll(most) {
        change(dice, &mut files);
    }
    files
}

/// What a person would commit as a merge, path by path.
fn overlaid(base: &Files, ours: &Files, theirs: &Files) -> Files {
    let mut merged = ours.clone();
    for path in base.keys().chain(theirs.keys()) {
        if base.get(path) != theirs.get(path) && base.get(path) == ours.get(path) {
            match theirs.get(path) {
                Some(file) => merged.insert(path.clone(), file.clone()),
                None => merged.remove(path),
            };
        }
    }
    // A file and a folder of one name cannot both be in a tree.
    let paths: Vec<String> = merged.keys().cloned().collect();
    merged.retain(|path, _| {
        !paths
            .iter()
            .any(|other| other.starts_with(&format!("{path}/")))
    });
    merged
}

/// Writes commits as a stream for `git fast-import`.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    marks: usize,
}

impl Stream {
    fn commit(&mut self, branch: Option<&str>, parents: &[usize], files: &Files) -> usize {
        self.marks += 1;
        let time = 1_700_000_000 + self.marks;
        let name = branch.map_or_else(|| format!("c{}", self.marks), str::to_owned);
        let out = &mut self.bytes;
        let _ = write!(
            out,
            "commit refs/heads/{name}\nmark :{}\ncommitter A <a@b> {time} +0000\ndata 1\nx\n",
            self.marks
        );
        for (at, parent) in parents.iter().enumerate() {
            let _ = writeln!(out, "{} :{parent}", if at == 0 { "from" } else { "merge" });
        }
        let _ = writeln!(out, "deleteall");
        for (path, file) in files {
            let text = if file.mode == "120000" {
                file.lines.concat()
            } else {
                file.lines.join("\n") + "\n"
            };
            let _ = writeln!(
                out,
                "M {} inline {path}\ndata {}\n{text}",
                file.mode,
                text.len()
            );
        }
        self.marks
    }
}

/// One history whose branches `base-N` and `head-N` are to be merged.
fn case(dice: &mut Dice, stream: &mut Stream, number: usize) {
    let mut root = Files::new();
    for _ in 0..4 + dice.roll(9) {
        if let Some(path) = new_path(dice, &root) {
            root.insert(path, new_file(dice));
        }
    }
    let origin = stream.commit(None, &[], &root);
    let (mut base, mut head) = (changed(dice, &root, 3), changed(dice, &root, 3));
    let (mut base_parents, mut head_parents) = (vec![origin], vec![origin]);
    match dice.roll(4) {
        0 => {
            // Both sides took over the same changes, on their own.
            let shared = changed(dice, &root, 2);
            base = changed(dice, &shared, 1);
            head = changed(dice, &shared, 1);
        }
        1 => {
            // Criss-cross: each side merged the other's first commit.
            let one = stream.commit(None, &[origin], &base);
            let two = stream.commit(None, &[origin], &head);
            let merged = overlaid(&root, &base, &head);
            (base, head) = (changed(dice, &merged, 1), changed(dice, &merged, 1));
            (base_parents, head_parents) = (vec![one, two], vec![two, one]);
        }
        _ => {}
    }
    stream.commit(Some(&format!("base-{number}")), &base_parents, &base);
    stream.commit(Some(&format!("head-{number}")), &head_parents, &head);
}

fn feed(repo: &TestRepo, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = command(repo.path(), 1_700_000_000, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git on the PATH");
    let mut pipe = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || pipe.write_all(&input));
    let output = child.wait_with_output().expect("git ends");
    writer.join().expect("no panic").expect("git reads");
    assert!(output.status.success(), "git {args:?}");
    output.stdout
}

/// The tree that git writes for a clean merge; `None` on a conflict.
fn git_merge(repo: &TestRepo, number: usize) -> Option<String> {
    let output = repo.try_git(&[
        "merge-tree",
        "--write-tree",
        &format!("base-{number}"),
        &format!("head-{number}"),
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(0) => Some(text.trim().to_owned()),
        Some(1) => None,
        other => panic!(
            "git merge-tree: {other:?} {}",
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

#[test]
fn a_merged_tree_that_is_given_is_the_one_that_git_writes() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let cases = number("MERGE_CASES", 150) as usize;
    let seed = number("MERGE_SEED", 20);
    let repo = TestRepo::new();
    let (mut dice, mut stream) = (Dice(seed), Stream::default());
    for number in 0..cases {
        case(&mut dice, &mut stream, number);
    }
    feed(
        &repo,
        &["fast-import", "--quiet", "--date-format=raw"],
        &stream.bytes,
    );
    let (mut known, mut clean, mut wrong) = (0, 0, Vec::new());
    let mut reasons = BTreeMap::<String, usize>::new();
    for number in 0..cases {
        let mut request = request(&repo);
        request.base = Some(format!("base-{number}"));
        request.head = format!("head-{number}").as_str().into();
        let snapshot = gather(&request);
        let expected = git_merge(&repo, number);
        clean += usize::from(expected.is_some());
        match &snapshot.merged_tree {
            Fact::Known(tree) => {
                known += 1;
                if Some(tree.as_str()) != expected.as_deref() {
                    let args = [
                        "merge-tree",
                        "--write-tree",
                        &format!("base-{number}"),
                        &format!("head-{number}"),
                    ];
                    let says = String::from_utf8_lossy(&repo.try_git(&args).stdout).into_owned();
                    wrong.push(format!(
                        "case {number}: {tree} instead of {expected:?}: {says}"
                    ));
                }
            }
            other if expected.is_some() => {
                let why = other.why_not().unwrap_or_default().to_owned();
                eprintln!("case {number}: git is clean, {why}");
                let words: Vec<&str> = why.split('"').step_by(2).collect();
                *reasons.entry(words.join("…")).or_default() += 1;
            }
            _ => {}
        }
        let bases = repo.git(&[
            "merge-base",
            "--all",
            &format!("base-{number}"),
            &format!("head-{number}"),
        ]);
        let mut expected: Vec<&str> = bases.lines().collect();
        expected.sort_unstable();
        let bases = snapshot.merge_bases.known().expect("related histories");
        let mut bases: Vec<&str> = bases.iter().map(frostline::model::Sha::as_str).collect();
        bases.sort_unstable();
        assert_eq!(bases, expected, "case {number}");
    }
    for (why, count) in &reasons {
        eprintln!("{count} × {why}");
    }
    eprintln!("{cases} cases, git merges {clean}, known {known}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        clean > cases / 4,
        "only {clean} of {cases} cases can be merged"
    );
    assert!(
        known * 10 >= clean * 9,
        "{known} known of {clean} that git merges"
    );
}
