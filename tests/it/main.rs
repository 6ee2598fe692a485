//! Everything with I/O: real git repositories, a real SQLite file, real HTTP on loopback.

mod git_repo;
mod contract;
mod pure_rooms;
mod support;
