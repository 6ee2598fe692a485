//! Everything with I/O: real git repositories, a real SQLite file, real HTTP on loopback.

mod pure_rooms;
