//! The PURE rooms that read hostile text, as fuzz targets need them.
//!
//! They are compiled from the product's own files: that they build without its other rooms shows that
//! they are pure.

pub mod config;
#[path = "../../src/contract/mod.rs"]
pub mod contract;
#[path = "../../src/digest/mod.rs"]
pub mod digest;
#[path = "../../src/model/mod.rs"]
pub mod model;
#[path = "../../src/source/mod.rs"]
pub mod source;
