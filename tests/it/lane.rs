//! The lane on real processes, real isolation and real test frameworks.

mod commands;
mod flaky;
mod isolation;
mod javascript;
mod pytest;
mod run;
mod runners;
mod rust;
mod rust_commands;
