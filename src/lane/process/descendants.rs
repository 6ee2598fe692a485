//! The processes below this one, by what the kernel lists under `/proc`.
//!
//! A process that left its session or group is still listed here; one whose parent died has come to the
//! nearest subreaper, which the caller is.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};

/// How long a tree that goes on making processes is fought.
const PATIENCE: Duration = Duration::from_secs(10);

/// Children of a process; those of each of its threads. `None` when the kernel does not say.
fn children(of: Pid) -> Option<Vec<Pid>> {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", of.as_raw_nonzero())).ok()?;
    let mut found = Vec::new();
    for task in tasks.flatten() {
        // A thread may end meanwhile.
        let Ok(text) = std::fs::read_to_string(task.path().join("children")) else {
            if task.path().exists() {
                return None;
            }
            continue;
        };
        let ids = text.split_ascii_whitespace();
        found.extend(ids.filter_map(|id| Pid::from_raw(id.parse().ok()?)));
    }
    Some(found)
}

/// Everything below a process, each before what it started. `None` when its own children are not told.
pub fn below(top: Pid) -> Option<Vec<Pid>> {
    let mut found = children(top)?;
    let mut at = 0;
    while at < found.len() {
        // One that ended meanwhile has no children.
        found.extend(children(found[at]).unwrap_or_default());
        at += 1;
    }
    Some(found)
}

/// Sends a signal to each; those that ended meanwhile are none the worse.
pub fn signal(to: &[Pid], signal: Signal) {
    for pid in to {
        let _ = kill_process(*pid, signal);
    }
}

/// Kills everything below this process and waits until it is gone. Whether it is.
///
/// No child of this process may be waited for elsewhere meanwhile.
pub fn end_all() -> bool {
    let started = Instant::now();
    loop {
        let Some(alive) = below(getpid()) else {
            return false;
        };
        if alive.is_empty() {
            return true;
        }
        signal(&alive, Signal::KILL);
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        if started.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the children of this process that are not `known`, with all below them.
pub fn end_orphans(known: &[u32]) {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let mut orphans = children(getpid()).unwrap_or_default();
        orphans.retain(|pid| !known.contains(&pid.as_raw_nonzero().get().unsigned_abs()));
        if orphans.is_empty() {
            return;
        }
        for orphan in orphans {
            let tree = below(orphan).unwrap_or_default();
            signal(&[orphan], Signal::KILL);
            signal(&tree, Signal::KILL);
            let _ = waitpid(Some(orphan), WaitOptions::empty());
        }
    }
}
