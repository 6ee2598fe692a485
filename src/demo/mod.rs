//! Everything on loopback: an embedded forge over real bare repositories, for `demo` and the tests. No part of the production path.

pub mod forge;
