//! Lock, freeze list and map: any bytes give a value or an error with a place, and what is read is read
//! the same by every JSON reader.
#![no_main]

use frostline_fuzz::contract::{freezes, lock, map};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let errors = [
        lock::parse("lock.json", bytes).err(),
        freezes::parse("freezes.json", bytes).err(),
        map::parse("map.json", bytes).err(),
    ];
    for error in errors.iter().flatten() {
        assert!(error.line >= 1 && error.column >= 1, "{error}");
    }
    if errors.iter().any(Option::is_none) {
        let read: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
        assert!(read.is_ok(), "accepted what is no JSON");
    }
});
