//! `.github/frostline.yml`: any bytes give a configuration or an error with a place.
#![no_main]

use frostline_fuzz::config::repo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = repo::parse(".github/frostline.yml", bytes) {
        assert!(error.line >= 1 && error.column >= 1, "{error}");
        assert!(!error.message.is_empty());
    }
});
