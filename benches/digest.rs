//! How fast blobs are hashed on this processor: `cargo bench --bench digest`.
//!
//! The product takes sha2 where the processor has SHA instructions and ring elsewhere
//! (`src/digest/sha256.rs`); both are printed here, so that the choice can be checked.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::time::Instant;

use sha2::{Digest as _, Sha256};

const BLOBS: usize = 2_000;
const BLOB_BYTES: usize = 16_000;
const RUNS: usize = 9;

fn main() {
    // `cargo test --benches` asks for a list of tests.
    if std::env::args().any(|arg| arg == "--list" || arg == "--test") {
        return;
    }
    let blobs: Vec<Vec<u8>> = (0..BLOBS)
        .map(|number| vec![(number % 251) as u8; BLOB_BYTES])
        .collect();
    report("sha2", &blobs, |blob| {
        black_box(Sha256::digest(blob));
    });
    report("ring", &blobs, |blob| {
        black_box(ring::digest::digest(&ring::digest::SHA256, blob));
    });
    report("frostline::digest::blob", &blobs, |blob| {
        black_box(frostline::digest::blob(blob));
    });
}

/// Prints the median of some runs over all blobs.
fn report(name: &str, blobs: &[Vec<u8>], hash: impl Fn(&[u8])) {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for blob in blobs {
                hash(blob);
            }
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let megabytes = (BLOBS * BLOB_BYTES) as f64 / 1e6;
    println!("{name}: {:.0} MB/s", megabytes / times[RUNS / 2]);
}
