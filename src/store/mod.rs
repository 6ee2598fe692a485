//! What must survive a crash: deliveries, jobs, caches, what was published. SQLite.
