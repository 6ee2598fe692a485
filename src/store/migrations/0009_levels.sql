-- Dead jobs are kept; they are counted whenever the server's metrics are read.
CREATE INDEX job_dead ON job (id) WHERE state = 'dead';
