//! Is a pull request an agent's? The built-in table and the configuration's additions (protocol 5.4). PURE.
