//! From a decision to what people see on the forge: `plan` (PURE) and `apply`.
pub mod plan;
