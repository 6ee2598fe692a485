//! Whether a level keeps what it promises here: `frostline lane-check` looks from inside.

use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use super::{Cancel, How, Level, Limits, Order, Places, run, wrap};

/// Documentation addresses are routed nowhere, but a machine with a network has a route to them.
const OUTSIDE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
const PATIENCE: Duration = Duration::from_secs(10);
const HOLDS: &str = "isolation holds";

/// Runs the check inside the level; the reason when it does not hold.
pub(super) fn probe(
    level: Level,
    places: &Places,
    cancel: &Cancel,
) -> std::result::Result<(), String> {
    if level == Level::Plain {
        return Ok(());
    }
    let mut argv = vec![
        places.program.to_string_lossy().into_owned(),
        "lane-check".to_owned(),
    ];
    if level.has_no_network() {
        argv.push("--no-network".to_owned());
    }
    argv.push(places.tree.to_string_lossy().into_owned());
    argv.push(places.run.to_string_lossy().into_owned());
    let (argv, wrapped) = wrap(level, places, &argv);
    let order = Order {
        argv,
        env: super::super::environment::bare(&places.search),
        cwd: places.tree.clone(),
        limits: Limits {
            timeout_ms: u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX),
            ..Limits::default()
        },
        wrapped,
    };
    let ended = run(&places.program, &order, cancel).map_err(|error| error.to_string())?;
    if ended.how == How::Exit(0) && ended.output.contains(HOLDS) {
        return Ok(());
    }
    let said = ended
        .output
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty());
    Err(said.unwrap_or("it ended without a word").to_owned())
}

/// Looks from inside whether the tree is read-only, the run's folder is not, loopback works and, when
/// that is promised, nothing else does.
///
/// # Errors
/// The first promise that does not hold.
pub fn check(tree: &Path, folder: &Path, no_network: bool) -> Result<&'static str> {
    let mark = tree.join(".frostline-probe");
    if std::fs::write(&mark, b"").is_ok() {
        let _ = std::fs::remove_file(&mark);
        return Err(Error::other("the tree can be written to"));
    }
    let mark = folder.join("probe");
    std::fs::write(&mark, b"")?;
    std::fs::remove_file(&mark)?;
    talk_to_itself()?;
    if no_network {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        match socket.connect(OUTSIDE) {
            Err(error) if error.kind() == ErrorKind::NetworkUnreachable => {}
            _ => return Err(Error::other("the network can be reached")),
        }
    }
    Ok(HOLDS)
}

fn talk_to_itself() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let mut client = TcpStream::connect_timeout(&address, PATIENCE)?;
    let (mut server, _) = listener.accept()?;
    client.write_all(b"x")?;
    let mut byte = [0];
    server.read_exact(&mut byte)
}
