//! Runs a test that is mixed again with one condition held still at a time (protocol 6.3). Such runs are
//! no votes.

use std::path::{Path, PathBuf};

use super::bench::{Bench, Run};
use super::cause::{Intervention, Tried};
use super::classify::Tally;
use super::frameworks::{Purpose, Task};
use super::trial::side_by_side;
use super::window::Wish;

/// Where Debian, Fedora, Arch and Homebrew put the library; the second part is the machine's own triplet.
const FOLDERS: [(&str, &str); 4] = [
    ("/usr/lib", "faketime"),
    ("/usr/lib64", ""),
    ("/usr/local/lib", ""),
    ("/usr/lib", ""),
];
const LIBRARY: &str = "libfaketime.so.1";

/// What has to stand before a run's own words to hold a condition still, where it is not the framework that
/// does it.
///
/// # Errors
/// What this machine lacks: a clause.
pub fn words(intervention: Intervention, search: &str) -> Result<Vec<String>, &'static str> {
    let words = match intervention {
        Intervention::HashSeed | Intervention::Rng => Vec::new(),
        Intervention::Clock => {
            let library = library().ok_or("libfaketime is not installed")?;
            vec![
                "env".to_owned(),
                format!("LD_PRELOAD={}", library.display()),
                "FAKETIME=2026-01-01 00:00:00".to_owned(),
            ]
        }
        Intervention::OneCpu => {
            let has = |folder: &str| Path::new(folder).join("taskset").is_file();
            if !search.split(':').any(has) {
                return Err("taskset is not installed");
            }
            let cpu = first_cpu().ok_or("the processors of this machine are not told")?;
            ["taskset", "--cpu-list", &cpu].map(str::to_owned).into()
        }
    };
    Ok(words)
}

fn library() -> Option<PathBuf> {
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    FOLDERS
        .iter()
        .flat_map(|(folder, below)| {
            let folder = Path::new(folder);
            [folder.join(&triplet).join(below), folder.join(below)]
        })
        .map(|folder| folder.join(LIBRARY))
        .find(|path| path.is_file())
}

/// The first processor that this process may use.
fn first_cpu() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let first: String = list
        .trim()
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    (!first.is_empty()).then_some(first)
}

/// Tries each of the interventions until it is mixed, or until enough runs agree; `None` when it was
/// cancelled. `told` hears of each run as it ends.
pub fn diagnose(
    bench: &Bench<'_>,
    wish: Wish<'_>,
    (interventions, enough): (&[Intervention], usize),
    told: &(dyn Fn(Intervention, &Run) + Sync),
) -> Option<Vec<Tried>> {
    let tried = side_by_side(interventions.len(), wish.workers, |at| {
        one(bench, wish, (interventions[at], enough), told)
    });
    tried.into_iter().collect()
}

fn one(
    bench: &Bench<'_>,
    wish: Wish<'_>,
    (intervention, enough): (Intervention, usize),
    told: &(dyn Fn(Intervention, &Run) + Sync),
) -> Option<Tried> {
    let mut tried = Tried {
        intervention,
        tally: Tally::default(),
    };
    while tried.goes_on(enough) {
        let at = tried.tally.runs;
        let pinned = |by: Intervention| if intervention == by { 0 } else { at };
        let run = bench.run(&Task {
            node: wish.node,
            seed: wish.seed_of(pinned(Intervention::Rng)),
            hash_seed: u32::try_from(pinned(Intervention::HashSeed)).unwrap_or(u32::MAX),
            generator: wish.generator,
            purpose: Purpose::Pinned(intervention),
            stored: None,
        });
        if run.cancelled {
            return None;
        }
        told(intervention, &run);
        tried.tally.add(&run.outcome);
    }
    Some(tried)
}
