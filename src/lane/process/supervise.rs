//! The supervisor of one run: `frostline lane-supervise`.

use std::io::{BufRead as _, PipeReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, pidfd_open, setrlimit};

use super::descendants::{below, end_all, signal};
use super::output::Output;
use super::{Ended, How, Limits, Order};

/// How long the last output is waited for once nothing is left alive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Reads one order from standard input, runs it, and writes how it ended to standard output.
///
/// # Errors
/// When there is no order, or the result cannot be written.
pub fn supervise() -> std::io::Result<()> {
    // Not in the terminal's session: its signals are for the program that started this one.
    let _ = rustix::process::setsid();
    let mut line = Vec::new();
    std::io::stdin().lock().read_until(b'\n', &mut line)?;
    let order: Order = serde_json::from_slice(&line)?;
    let ended = attend(&order);
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&serde_json::to_vec(&ended)?)?;
    stdout.flush()
}

fn attend(order: &Order) -> Ended {
    let started = Instant::now();
    let mut output = Output::default();
    let how = match start(order) {
        Ok((child, pipe)) => {
            let mut run = Run {
                child,
                pipe,
                output: &mut output,
                order,
                started,
            };
            let how = run.follow();
            run.end(how)
        }
        Err(error) => {
            let program = order.argv.first().map_or("", String::as_str);
            output.add(format!("cannot start {program}: {error}").as_bytes());
            How::NotStarted
        }
    };
    Ended {
        how,
        output: output.text(),
        written: output.written(),
        wall_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

fn start(order: &Order) -> std::io::Result<(Child, PipeReader)> {
    rustix::process::set_child_subreaper(Some(getpid()))?;
    limit(&order.limits)?;
    let (program, words) = order
        .argv
        .split_first()
        .ok_or_else(|| std::io::Error::other("no program is named"))?;
    let (reader, writer) = std::io::pipe()?;
    let child = Command::new(program)
        .args(words)
        .env_clear()
        .envs(&order.env)
        .current_dir(&order.cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    Ok((child, reader))
}

/// Sets the limits of this process, which what it starts inherits. A limit that is lower already stays.
fn limit(limits: &Limits) -> std::io::Result<()> {
    let set = |resource, soft: u64, hard: u64| {
        let most = rustix::process::getrlimit(resource).maximum;
        let within = |value: u64| most.map_or(value, |most| value.min(most));
        let limit = Rlimit {
            current: Some(within(soft)),
            maximum: Some(within(hard)),
        };
        setrlimit(resource, limit)
    };
    // The soft limit first, so that a run that is over it can be told from one that was killed.
    set(Resource::Cpu, limits.cpu_seconds, limits.cpu_seconds + 5)?;
    set(Resource::Fsize, limits.file_bytes, limits.file_bytes)?;
    set(Resource::Nofile, limits.open_files, limits.open_files)?;
    set(Resource::Nproc, limits.processes, limits.processes)?;
    set(Resource::Core, 0, 0)?;
    if let Some(bytes) = limits.memory_bytes {
        set(Resource::As, bytes, bytes)?;
    }
    Ok(())
}

struct Run<'a> {
    child: Child,
    pipe: PipeReader,
    output: &'a mut Output,
    order: &'a Order,
    started: Instant,
}

impl Run<'_> {
    /// Reads what is printed until the process ends, its time is over, or nobody wants it any more.
    fn follow(&mut self) -> How {
        let Ok(pid) = self.pidfd() else {
            return How::LeftAlive;
        };
        let stdin = std::io::stdin();
        let limits = self.order.limits;
        let mut deadline = self.started + Duration::from_millis(limits.timeout_ms);
        let mut asked = false;
        let mut open = true;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() && asked {
                return How::TimedOut;
            }
            if left.is_zero() {
                self.ask_to_end();
                asked = true;
                deadline = Instant::now() + Duration::from_millis(limits.grace_ms);
                continue;
            }
            let lifeline = stdin.as_fd();
            let mut fds = vec![
                PollFd::new(&pid, PollFlags::IN),
                PollFd::new(&lifeline, PollFlags::IN),
            ];
            if open {
                fds.push(PollFd::new(&self.pipe, PollFlags::IN));
            }
            let ready: Vec<bool> = match wait(&mut fds, left) {
                Ok(()) => fds.iter().map(|fd| !fd.revents().is_empty()).collect(),
                Err(_) => return How::LeftAlive,
            };
            if ready[1] {
                return How::Cancelled;
            }
            if ready.get(2) == Some(&true) {
                open = self.read();
            }
            if ready[0] {
                return match self.child.wait() {
                    Ok(_) if asked => How::TimedOut,
                    Ok(status) => told(status),
                    Err(_) => How::LeftAlive,
                };
            }
        }
    }

    fn pidfd(&self) -> std::io::Result<OwnedFd> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| std::io::Error::other("no process id"))?;
        Ok(pidfd_open(id, PidfdFlags::empty())?)
    }

    /// SIGTERM to everything; to a wrapper it would be the end of all that it holds.
    fn ask_to_end(&self) {
        let mut all = below(getpid()).unwrap_or_default();
        if self.order.wrapped {
            let wrapper = self.child.id();
            all.retain(|pid| pid.as_raw_nonzero().get().unsigned_abs() != wrapper);
        }
        signal(&all, Signal::TERM);
    }

    /// One piece of output; whether there may be more.
    fn read(&mut self) -> bool {
        let mut piece = [0; 64 * 1024];
        match self.pipe.read(&mut piece) {
            Ok(0) => false,
            Ok(len) => {
                self.output.add(&piece[..len]);
                true
            }
            Err(error) => error.kind() == std::io::ErrorKind::Interrupted,
        }
    }

    /// Kills what is left, and reads what it had printed.
    fn end(&mut self, how: How) -> How {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !end_all() {
            return How::LeftAlive;
        }
        let deadline = Instant::now() + LAST_WORDS;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(&self.pipe, PollFlags::IN)];
            if left.is_zero() || wait(&mut fds, left).is_err() || fds[0].revents().is_empty() {
                return how;
            }
            if !self.read() {
                return how;
            }
        }
    }
}

fn wait(fds: &mut [PollFd<'_>], at_most: Duration) -> rustix::io::Result<()> {
    let time = Timespec::try_from(at_most).map_err(|_| rustix::io::Errno::INVAL)?;
    match poll(fds, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}

fn told(status: ExitStatus) -> How {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exit(code),
        (None, Some(signal)) => How::Signal(signal),
        (None, None) => How::LeftAlive,
    }
}
