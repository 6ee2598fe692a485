//! The lane on real processes, real isolation and real test frameworks.

mod isolation;
