//! Every contract file but the configuration: any bytes give a value or an error with a place, and what is read is read
//! the same by every JSON reader.
#![no_main]

use frostline_fuzz::contract::{
    catalog, evidence, freezes, frozen_tests, ledger, lock, map, replay, seeds,
};
use frostline_fuzz::model::NodeId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let errors = [
        lock::parse("lock.json", bytes).err(),
        freezes::parse("freezes.json", bytes).err(),
        map::parse("map.json", bytes).err(),
        ledger::parse("ledger.json", bytes).err(),
        catalog::parse("catalog.json", bytes).err(),
        seeds::parse("seeds.json", bytes).err(),
    ];
    let lines = [
        evidence::parse("evidence.jsonl", bytes).err(),
        frozen_tests::parse("frozen_tests.txt", bytes).err(),
    ];
    for error in errors.iter().chain(&lines).flatten() {
        assert!(error.line >= 1 && error.column >= 1, "{error}");
    }
    if errors.iter().any(Option::is_none) {
        let read: Result<serde_json::Value, _> = serde_json::from_slice(bytes);
        assert!(read.is_ok(), "accepted what is no JSON");
    }
    let Ok(nodeid) = "t.py::f".parse::<NodeId>() else {
        return;
    };
    if let Ok(line) = std::str::from_utf8(bytes) {
        let subject = replay::Subject {
            nodeid: &nodeid,
            seed: None,
            runners: &[],
        };
        let _ = replay::parse(line, subject);
    }
});
