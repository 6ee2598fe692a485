//! From inside: `frostline lane-enter` restricts itself and becomes the run.

use std::io::{Error, Result};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, Scope, path_beneath_rules,
};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType};
use rustix::process::{WaitOptions, wait};

/// The first version that also keeps files from being truncated.
const NEEDED: ABI = ABI::V3;
/// The last whose rights are asked for; what the kernel lacks of them is left out.
const WANTED: ABI = ABI::V6;

/// Files that every program may write to.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/shm",
];

/// What to do on the way in.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Raise the loopback interface of a new network namespace, where it is down.
    pub loopback: bool,
    /// This is the first process of its namespace: stay, and wait for the others.
    pub first: bool,
}

/// Restricts this process to writing below `write`, and runs `argv` in its place.
///
/// # Errors
/// When a restriction cannot be had whole, or the program cannot be started.
pub fn enter(entry: Entry, write: &Path, argv: &[String]) -> Result<ExitCode> {
    if entry.loopback {
        raise_loopback()?;
    }
    restrict(write)?;
    let (program, words) = argv
        .split_first()
        .ok_or_else(|| Error::other("no program is named"))?;
    let mut command = Command::new(program);
    command.args(words);
    if entry.first {
        // The first process of a namespace ignores signals that it does not handle, and orphans come to it:
        // a test must be neither.
        let child = command.spawn()?;
        return Ok(ExitCode::from(wait_for(child.id())?));
    }
    Err(command.exec())
}

/// Collects everything that ends until the child does; its status as a shell tells it.
fn wait_for(child: u32) -> Result<u8> {
    loop {
        let Some((pid, status)) = wait(WaitOptions::empty())? else {
            continue;
        };
        if pid.as_raw_nonzero().get().unsigned_abs() == child {
            let status = std::process::ExitStatus::from_raw(status.as_raw());
            let code = status
                .code()
                .or_else(|| status.signal().map(|signal| 128 + signal));
            return Ok(u8::try_from(code.unwrap_or(255)).unwrap_or(255));
        }
    }
}

fn restrict(write: &Path) -> Result<()> {
    let apply = || -> std::result::Result<(), Box<dyn std::error::Error>> {
        let devices = DEVICES.iter().filter(|path| Path::new(path).exists());
        let writable: Vec<PathBuf> = std::iter::once(write.to_owned())
            .chain(devices.map(PathBuf::from))
            .collect();
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(NEEDED))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(WANTED))?
            .scope(Scope::from_all(WANTED))?
            .create()?
            .add_rules(path_beneath_rules(["/"], AccessFs::from_read(WANTED)))?
            .add_rules(path_beneath_rules(writable, AccessFs::from_all(WANTED)))?
            .restrict_self()?;
        Ok(())
    };
    apply().map_err(|error| Error::other(format!("Landlock: {error}")))
}

/// `ip link set lo up`, without needing that program: one RTM_NEWLINK message.
fn raise_loopback() -> Result<()> {
    const LENGTH: u32 = 32;
    const RTM_NEWLINK: u16 = 16;
    const REQUEST_AND_ACK: u16 = 1 | 4;
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut message = Vec::with_capacity(LENGTH as usize);
    message.extend(LENGTH.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACK.to_ne_bytes());
    // Sequence number and port; family, padding and type; index, flags and which of them change.
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    message.extend(UP.to_ne_bytes());
    let socket = rustix::net::socket(AddressFamily::NETLINK, SocketType::RAW, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &message, SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 64];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    // An error message: its code stands after the header, 0 when all is well.
    match answer[..length].get(16..20) {
        Some([0, 0, 0, 0]) => Ok(()),
        _ => Err(Error::other("the loopback interface cannot be raised")),
    }
}
