//! Everything with I/O: real git repositories, a real SQLite file, real HTTP on loopback.

mod cli;
mod contract;
mod demo;
mod docs;
mod evaluate;
mod fake_forge;
mod forge;
mod git_commands;
mod git_fixtures;
mod git_merge_model;
mod git_open;
mod git_repo;
mod git_support;
mod git_work_tree;
mod git_write_set;
mod init;
mod kill;
mod lost_answers;
mod publish;
mod pure_rooms;
mod queue;
mod render;
mod serve;
mod server;
mod support;
mod webhook;
