//! Everything on loopback: an embedded forge over real bare repositories, for `demo` and the tests.
//! No part of the production path: nothing outside this room, `cli::demo` and the tests uses it.

pub mod forge;
mod page;
mod project;
mod stage;
mod story;

pub use stage::Stage;
pub use story::play;
