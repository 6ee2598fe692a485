//! `frostline doctor` on a forge: what it calls well, what it finds, and that it tells no secret.
#![expect(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use frostline::demo::forge::{AppKey, Forge};
use frostline::store::Store;

use crate::support::logs;
use crate::support::world::{REPO, World};

const PUBLIC: &str = "https://frostline.example.com";

/// A server's folder for an App of the forge.
fn folder(forge: &Forge, key: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "key.pem", key);
    write(folder.path(), "secrets", forge.webhook_secret());
    let config = format!(
        "public_url = '{PUBLIC}'\n[github]\napp_id = {}\nprivate_key_file = 'key.pem'\n\
         webhook_secret_file = 'secrets'\napi_url = '{}'\nallow_http_loopback = true\n",
        forge.app_id(),
        forge.url()
    );
    write(folder.path(), "frostline.toml", &config);
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Its exit status and its lines.
async fn doctor(folder: &Path, forge: &Forge) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_frostline"));
    command
        .arg("doctor")
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null());
    // The forge answers on this thread meanwhile.
    let output = tokio::task::spawn_blocking(move || command.output());
    let output = output.await.unwrap().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(logs::leak(&told, &logs::secrets(forge)), None);
    for line in told.lines() {
        let is_ok = line.starts_with("ok       ") && !line.contains("to mend: ");
        let is_problem = line.starts_with("problem  ") && line.contains("; to mend: ");
        assert!(is_ok || is_problem, "{line}");
    }
    let status = output.status.code().unwrap();
    let has_problem = told.lines().any(|line| line.starts_with("problem"));
    assert_eq!(status, i32::from(has_problem), "{told}");
    (status, told)
}

fn well(forge: &Forge) {
    forge.set_hook_url(&format!("{PUBLIC}/webhooks/github"));
}

#[tokio::test]
async fn what_is_well_is_a_line_each() {
    let world = World::new().await;
    let forge = &world.forge;
    well(forge);
    let folder = folder(forge, forge.private_key_pem());
    let (status, told) = doctor(folder.path(), forge).await;
    assert_eq!(status, 0, "{told}");
    let parts: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("ok       ")?.split(':').next())
        .collect();
    let expected = [
        "configuration",
        "key",
        "permissions",
        "installations",
        "webhook",
        "deliveries",
        "database",
    ];
    assert_eq!(parts, expected, "{told}");
    assert!(
        !folder.path().join("frostline.db").exists(),
        "it only looks"
    );

    let url = format!("sqlite://{}/frostline.db", folder.path().display());
    let store = Store::open(&url).await.unwrap();
    store.enqueue(&world.key(1)).await.unwrap();
    let (status, told) = doctor(folder.path(), forge).await;
    assert_eq!(status, 0, "{told}");
    assert!(told.contains("queue: 1 queued, 0 running"), "{told}");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_used_is_told() {
    let world = World::new().await;
    let folder = folder(&world.forge, world.forge.private_key_pem());
    write(folder.path(), "frostline.toml", "bnid = 'x'\n");
    let (_, told) = doctor(folder.path(), &world.forge).await;
    assert!(told.contains("did you mean `bind`?"), "{told}");
    assert_eq!(told.lines().count(), 1);
}

#[tokio::test]
async fn a_key_of_another_app_and_one_that_all_can_read_are_told() {
    let world = World::new().await;
    let forge = &world.forge;
    let other = AppKey::generate().unwrap();
    let folder = folder(forge, other.private_pem());
    let key = folder.path().join("key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (_, told) = doctor(folder.path(), forge).await;
    assert!(told.contains("problem  key: the forge refuses"), "{told}");
    assert!(told.contains("to mend: chmod o-rwx "), "{told}");

    write(folder.path(), "key.pem", "-----BEGIN hunter2\n");
    let (_, told) = doctor(folder.path(), forge).await;
    assert!(
        told.contains("problem  key: the App's private key is not"),
        "{told}"
    );
    assert!(!told.contains("hunter2"), "{told}");
}

#[tokio::test]
async fn what_the_app_lacks_at_the_forge_is_told() {
    let world = World::new().await;
    let forge = &world.forge;
    forge.set_right(REPO, "checks", None).unwrap();
    forge.set_hook_url("https://elsewhere.example.com/");
    let folder = folder(forge, forge.private_key_pem());
    let (_, told) = doctor(folder.path(), forge).await;
    assert!(
        told.contains("problem  installations: the one on acme has not accepted checks: write"),
        "{told}"
    );
    assert!(
        told.contains("problem  webhook: it goes to \"https://elsewhere.example.com/\""),
        "{told}"
    );
}

#[tokio::test]
async fn a_database_that_cannot_be_used_is_told_and_left_alone() {
    use sqlx::Connection as _;
    let world = World::new().await;
    let forge = &world.forge;
    well(forge);
    let folder = folder(forge, forge.private_key_pem());
    let file = folder.path().join("frostline.db");
    let url = format!("sqlite://{}", file.display());
    Store::open(&url).await.unwrap().close().await;
    let mut raw = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let newer =
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
                 VALUES (9999, 'x', 1, x'00', 0)";
    sqlx::query(newer).execute(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    let (_, told) = doctor(folder.path(), forge).await;
    assert!(
        told.contains("problem  database: a newer frostline"),
        "{told}"
    );

    std::fs::write(
        &file,
        "no database at all, but long enough to be one".repeat(99),
    )
    .unwrap();
    let before = std::fs::read(&file).unwrap();
    let (_, told) = doctor(folder.path(), forge).await;
    assert!(told.contains("problem  database: "), "{told}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
