//! The GitHub client over real HTTP: tokens, errors, limits, blobs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use frostline::demo::forge::{Answer, Fault, Limits};
use frostline::forge::ForgeError;
use frostline::forge::github::{
    App, AppKey, AppSettings, Fetched, SettingsError, Timeouts, Wanted,
};
use frostline::model::{PrNumber, Sha};

use crate::support::world::{REPO, World, app};

async fn world_with_pull() -> (World, PrNumber) {
    let world = World::new().await;
    let number = world.pull("fix", &[("src/parse.py", "x = 1\n")]);
    (world, PrNumber(number))
}

fn mints(world: &World) -> usize {
    let all = world.requests_since(0);
    all.iter().filter(|r| r.ends_with("/access_tokens")).count()
}

#[tokio::test]
async fn twenty_requests_at_once_mint_one_token() {
    let (world, number) = world_with_pull().await;
    let clients: Vec<_> = (0..20).map(|_| world.client()).collect();
    let mut all = tokio::task::JoinSet::new();
    for client in clients {
        all.spawn(async move { client.pull(number).await.map(|pull| pull.number) });
    }
    for result in all.join_all().await {
        assert_eq!(result.unwrap(), number.0);
    }
    assert_eq!(mints(&world), 1);
}

#[tokio::test]
async fn a_token_is_asked_for_one_repository_and_the_permissions_that_are_needed() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    let mints = || {
        let requests = world.forge.requests();
        let mints = requests
            .into_iter()
            .filter(|r| r.path.ends_with("/access_tokens"));
        mints.map(|mint| mint.body).collect::<Vec<_>>()
    };
    client.pull(number).await.unwrap();
    client.find_comment(number, None, |_| false).await.unwrap();
    let wanted = [Wanted {
        id: id_of(b"x = 1\n"),
        size: None,
    }];
    client
        .blobs(&[&wanted[..], &wanted[..]].concat(), 100, |_, _| {})
        .await
        .unwrap();
    let [read] = &mints()[..] else {
        panic!("{:?}", mints());
    };
    assert_eq!(read["repositories"], serde_json::json!(["parser"]));
    let permissions = read["permissions"].as_object().unwrap();
    assert!(permissions.values().all(|level| level == "read"), "{read}");

    let comment = client.create_comment(number, "Hello").await.unwrap();
    client
        .set_minimized(&comment.node_id, None, true)
        .await
        .unwrap();
    let [_, write] = &mints()[..] else {
        panic!("{:?}", mints());
    };
    assert_eq!(write["repositories"], serde_json::json!(["parser"]));
    let wanted: serde_json::Map<_, _> = frostline::forge::github::PERMISSIONS
        .iter()
        .map(|(name, level)| ((*name).to_owned(), (*level).into()))
        .collect();
    assert_eq!(write["permissions"], serde_json::Value::from(wanted));
    let asked: Vec<_> = permissions.keys().collect();
    let named: Vec<_> = write["permissions"].as_object().unwrap().keys().collect();
    assert_eq!(asked, named);
}

fn impatient(world: &World) -> App {
    let key = AppKey::from_pem(
        world.forge.app_id(),
        world.forge.private_key_pem().as_bytes(),
    );
    let settings = AppSettings {
        api_url: world.forge.url().parse().unwrap(),
        allow_http_loopback: true,
        key: key.unwrap(),
    };
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        read: Duration::from_millis(300),
        total: Duration::from_secs(5),
    };
    App::with_timeouts(settings, timeouts).unwrap()
}

#[tokio::test]
async fn a_forge_that_does_not_go_on_is_not_waited_for_and_a_flood_is_not_read() {
    let (world, number) = world_with_pull().await;
    let key = world.key(number.0);
    let client = impatient(&world).client(key.installation, key.repo);
    client.pull(number).await.unwrap();
    for answer in [Answer::Silence, Answer::Trickle] {
        let name = format!("{answer:?}");
        world.forge.fault(Fault::next("GET", "/pulls/", answer));
        let asked = client.pull(number);
        let answer = tokio::time::timeout(Duration::from_secs(4), asked).await;
        let error = answer.expect("less than the total").unwrap_err();
        assert!(
            matches!(error, ForgeError::Transient(_)),
            "{name}: {error:?}"
        );
    }
    let flood = Answer::Flood((32 << 20) + 1);
    world.forge.fault(Fault::next("GET", "/pulls/", flood));
    let client = world.client();
    let error = client.pull(number).await.unwrap_err();
    assert!(matches!(error, ForgeError::TooLarge { .. }), "{error:?}");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    let first = client.pull(number).await.unwrap();
    assert_eq!(client.pull(number).await.unwrap(), first);
    let last = world.forge.requests().pop().unwrap();
    assert_eq!(last.status, 304);
    world.push("fix", &[("src/parse.py", "x = 2\n")], "alice");
    let second = client.pull(number).await.unwrap();
    assert_ne!(second.head.sha, first.head.sha);
    assert_eq!(world.forge.requests().pop().unwrap().status, 200);
}

/// A GitHub Enterprise Server has its API below `/api/v3`, and GraphQL beside it.
#[tokio::test]
async fn an_enterprise_server_is_spoken_to_at_its_own_paths() {
    let world = World::enterprise().await;
    let files: Vec<(String, String)> = (0..130)
        .map(|n| (format!("app/m{n:03}.py"), format!("x = {n}\n")))
        .collect();
    world.forge.set_limits(Limits {
        compare_files: 300,
        ..Limits::default()
    });
    world
        .forge
        .push(REPO, "big", files, "acme-coder[bot]")
        .unwrap();
    let new = frostline::demo::forge::NewPull::new("big", "acme-coder[bot]", "Big");
    let number = world.forge.open_pull(REPO, new).unwrap();
    for n in 0..130 {
        world
            .forge
            .add_comment(REPO, number, "alice", &format!("No. {n}"))
            .unwrap();
    }
    assert_eq!(world.evaluate(number).await, 1);
    assert_eq!(world.conclusion(number), "failure");
    assert_eq!(world.comments(number).len(), 131);
    let client = world.client();
    let (files, all) = client.pull_files(PrNumber(number), 1_000).await.unwrap();
    assert_eq!(
        (files.len(), all),
        (130, true),
        "pages are asked for with the token"
    );
    let mut graphql = 0;
    for request in world.forge.requests() {
        assert!(request.status < 400, "{request:?}");
        graphql += usize::from(request.path == "/api/graphql");
        let at_home = request.path.starts_with("/api/v3/") || request.path == "/api/graphql";
        assert!(at_home, "{}", request.path);
    }
    assert!(graphql > 0);
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_limit_that_graphql_tells_with_status_200_says_when_it_ends() {
    let world = World::new().await;
    let wanted: Vec<Wanted> = [&b"{\"a\": 1}\n"[..], b"Parser\n"]
        .iter()
        .map(|bytes| Wanted {
            id: id_of(bytes),
            size: None,
        })
        .collect();
    let limit = Answer::GraphqlLimited(Duration::from_secs(600));
    world.forge.fault(Fault::next("POST", "/graphql", limit));
    match world.client().blobs(&wanted, 1000, |_, _| {}).await {
        Err(ForgeError::RateLimited { until }) => {
            let left = (until - chrono::Utc::now()).num_seconds();
            assert!((590..=602).contains(&left), "{left}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_a_query_leaves_out_is_asked_for_in_smaller_ones() {
    let world = World::new().await;
    world.forge.set_limits(Limits {
        graphql_objects: 12,
        ..Limits::default()
    });
    let blobs: Vec<Vec<u8>> = (0..40).map(|n| format!("blob {n}").into_bytes()).collect();
    let files = blobs
        .iter()
        .enumerate()
        .map(|(n, bytes)| (format!("b/{n}"), bytes));
    world
        .forge
        .push(REPO, "blobs", files.collect::<Vec<_>>(), "alice")
        .unwrap();
    let wanted: Vec<Wanted> = blobs
        .iter()
        .map(|bytes| Wanted {
            id: id_of(bytes),
            size: Some(bytes.len() as u64),
        })
        .collect();
    let mut got = std::collections::BTreeMap::new();
    let client = world.client();
    client
        .blobs(&wanted, 1000, |id, fetched| {
            assert!(got.insert(id.clone(), fetched).is_none());
        })
        .await
        .unwrap();
    for bytes in &blobs {
        assert_eq!(got[&id_of(bytes)], Fetched::Bytes(bytes.clone()));
    }
    let requests = world.requests_since(0);
    assert!(
        !requests.iter().any(|r| r.contains("/git/blobs/")),
        "{requests:#?}"
    );
    assert!(requests.len() <= 8, "{requests:#?}");
}

#[tokio::test]
async fn an_expired_token_is_replaced_once_and_the_request_made_again() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    client.pull(number).await.unwrap();
    world.forge.advance(Duration::from_secs(3700)).unwrap();
    // The App's own signature is over as well, and made once more by the forge's clock.
    client.pull(number).await.unwrap();
    assert_eq!(mints(&world), 3);

    let (world, number) = world_with_pull().await;
    let client = world.client();
    client.pull(number).await.unwrap();
    world
        .forge
        .fault(Fault::next("GET", "/pulls/", Answer::Status(401)));
    client.pull(number).await.unwrap();
    assert_eq!(mints(&world), 2);
    assert_eq!(client.requests(), 5, "both tokens are counted");
}

#[tokio::test]
async fn a_fresh_token_that_is_refused_is_an_error() {
    let (world, number) = world_with_pull().await;
    world
        .forge
        .fault(Fault::next("GET", "/pulls/", Answer::Status(401)).times(10));
    let client = world.client();
    let error = client.pull(number).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unauthorized(_)), "{error}");
    assert_eq!(mints(&world), 1);
    // The refused token is not used again.
    world.forge.clear_faults();
    client.pull(number).await.unwrap();
    assert_eq!(mints(&world), 2);
}

#[tokio::test]
async fn each_failure_is_an_error_of_its_own_and_nothing_is_repeated() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    client.pull(number).await.unwrap();
    type Expected = fn(&ForgeError) -> bool;
    let cases: [(Answer, Expected); 7] = [
        (Answer::Status(502), |e| {
            matches!(e, ForgeError::Transient(_))
        }),
        (Answer::HangUp, |e| matches!(e, ForgeError::Transient(_))),
        (Answer::Status(403), |e| {
            matches!(e, ForgeError::Forbidden(_))
        }),
        (Answer::Status(410), |e| matches!(e, ForgeError::Gone(_))),
        (Answer::Status(422), |e| {
            matches!(e, ForgeError::Validation(_))
        }),
        (Answer::Garbage("<html>"), |e| {
            matches!(e, ForgeError::Malformed(_))
        }),
        (Answer::Garbage("[]"), |e| {
            matches!(e, ForgeError::Malformed(_))
        }),
    ];
    for (answer, is) in cases {
        let name = format!("{answer:?}");
        let before = world.forge.requests().len();
        world.forge.fault(Fault::next("GET", "/pulls/", answer));
        let error = client.pull(number).await.unwrap_err();
        assert!(is(&error), "{name}: {error:?}");
        assert!(error.to_string().contains("/pulls/1"), "{error}");
        assert!(
            world.forge.requests().len() - before <= 1,
            "{name} was repeated"
        );
    }
    let missing = client.pull(PrNumber(99)).await.unwrap_err();
    assert!(matches!(missing, ForgeError::NotFound(_)));
}

#[tokio::test]
async fn a_limit_says_when_it_ends() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    for answer in [
        Answer::RateLimited(Duration::from_secs(600)),
        Answer::Secondary(Duration::from_secs(600)),
    ] {
        world.forge.fault(Fault::next("GET", "/pulls/", answer));
        match client.pull(number).await {
            Err(ForgeError::RateLimited { until }) => {
                let left = (until - chrono::Utc::now()).num_seconds();
                assert!((590..=602).contains(&left), "{left}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn plain_http_is_for_this_machine_only() {
    let world = World::new().await;
    let settings = |url: &str, allowed| AppSettings {
        api_url: url.parse().unwrap(),
        allow_http_loopback: allowed,
        key: AppKey::from_pem(1, world.forge.private_key_pem().as_bytes()).unwrap(),
    };
    for (url, allowed) in [
        ("http://example.org", true),
        ("http://127.0.0.1.example.org", true),
        ("http://10.0.0.1", true),
        ("http://127.0.0.1:1", false),
        ("ftp://127.0.0.1", true),
    ] {
        let error = App::new(settings(url, allowed)).unwrap_err();
        assert!(
            matches!(error, SettingsError::Insecure(_)),
            "{url}: {error}"
        );
    }
    for url in ["https://u:p@host/", "https://host/?x=1"] {
        let error = App::new(settings(url, false)).unwrap_err();
        assert!(matches!(error, SettingsError::Shape(_)), "{url}: {error}");
    }
    for (url, allowed) in [
        ("https://api.github.com", false),
        ("https://host/api/v3", false),
        ("http://127.0.0.1:1", true),
        ("http://[::1]:1", true),
    ] {
        assert!(App::new(settings(url, allowed)).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn neither_key_nor_token_can_be_printed() {
    let (world, number) = world_with_pull().await;
    let client = world.client();
    client.pull(number).await.unwrap();
    let token = {
        let requests = world.forge.requests();
        let mint = requests
            .iter()
            .find(|r| r.path.ends_with("/access_tokens"))
            .unwrap();
        mint.answer["token"].as_str().unwrap().to_owned()
    };
    let printed = format!("{client:?} {:?}", world.app);
    assert!(!printed.contains(&token), "{printed}");
    let pem = world.forge.private_key_pem();
    let line = pem.lines().nth(1).unwrap();
    assert!(!printed.contains(line));
    let refused = AppKey::from_pem(1, b"-----BEGIN SECRET-----\nabc\n").unwrap_err();
    assert!(!refused.contains("abc"), "{refused}");
    let same = app(&world.forge);
    assert_eq!(same.app_id(), world.forge.app_id());
}

fn id_of(bytes: &[u8]) -> Sha {
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes).unwrap();
    id.to_string().parse().unwrap()
}

#[tokio::test]
async fn every_blob_comes_with_the_bytes_of_its_id() {
    let world = World::new().await;
    let large = "ü".repeat(400_000).into_bytes();
    let blobs: Vec<Vec<u8>> = (0..60)
        .map(|n| format!("blob {n}\r\n").into_bytes())
        .chain([
            large,
            b"\xff\xfe\x00\x01".to_vec(),
            b"caf\xe9".to_vec(),
            Vec::new(),
            "\u{feff}bom".as_bytes().to_vec(),
        ])
        .collect();
    let files = blobs
        .iter()
        .enumerate()
        .map(|(n, bytes)| (format!("b/{n}"), bytes));
    world
        .forge
        .push(REPO, "blobs", files.collect::<Vec<_>>(), "alice")
        .unwrap();
    let missing = id_of(b"nowhere");
    for sized in [true, false] {
        let mut wanted: Vec<Wanted> = blobs
            .iter()
            .map(|bytes| Wanted {
                id: id_of(bytes),
                size: sized.then_some(bytes.len() as u64),
            })
            .collect();
        wanted.push(Wanted {
            id: missing.clone(),
            size: None,
        });
        let client = world.client();
        let mut got = std::collections::BTreeMap::new();
        client
            .blobs(&wanted, 10 << 20, |id, fetched| {
                assert!(got.insert(id.clone(), fetched).is_none(), "{id} twice");
            })
            .await
            .unwrap();
        assert_eq!(got.len(), blobs.len() + 1);
        for bytes in &blobs {
            assert_eq!(got[&id_of(bytes)], Fetched::Bytes(bytes.clone()));
        }
        assert!(matches!(got[&missing], Fetched::Unavailable(_)));
        if sized {
            assert!(client.requests() <= 9, "{}", client.requests());
        }
    }
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_blob_past_the_limit_is_not_read() {
    let world = World::new().await;
    let bytes = vec![b'x'; 5000];
    world
        .forge
        .push(REPO, "blobs", [("b", &bytes)], "alice")
        .unwrap();
    for size in [Some(5000), None] {
        let wanted = [Wanted {
            id: id_of(&bytes),
            size,
        }];
        let mut got = Vec::new();
        let client = world.client();
        client
            .blobs(&wanted, 1000, |_, fetched| got.push(fetched))
            .await
            .unwrap();
        assert_eq!(got, [Fetched::TooLarge(size)]);
    }
}

#[tokio::test]
async fn text_that_the_forge_cuts_comes_raw() {
    let world = World::new().await;
    world.forge.set_limits(Limits {
        graphql_text: 4,
        ..Limits::default()
    });
    let blobs = [b"abcdefgh".to_vec(), b"ijklmnop".to_vec()];
    let files = blobs
        .iter()
        .enumerate()
        .map(|(n, bytes)| (format!("b/{n}"), bytes));
    world
        .forge
        .push(REPO, "blobs", files.collect::<Vec<_>>(), "alice")
        .unwrap();
    let wanted: Vec<Wanted> = blobs
        .iter()
        .map(|bytes| Wanted {
            id: id_of(bytes),
            size: Some(8),
        })
        .collect();
    let mut got = Vec::new();
    let client = world.client();
    client
        .blobs(&wanted, 1000, |_, fetched| got.push(fetched))
        .await
        .unwrap();
    assert_eq!(got, blobs.map(Fetched::Bytes));
}

#[tokio::test]
async fn a_batch_that_times_out_is_halved() {
    let world = World::new().await;
    let blobs: Vec<Vec<u8>> = (0..20).map(|n| format!("{n}").into_bytes()).collect();
    let files = blobs
        .iter()
        .enumerate()
        .map(|(n, bytes)| (format!("b/{n}"), bytes));
    world
        .forge
        .push(REPO, "blobs", files.collect::<Vec<_>>(), "alice")
        .unwrap();
    let wanted: Vec<Wanted> = blobs
        .iter()
        .map(|bytes| Wanted {
            id: id_of(bytes),
            size: Some(2),
        })
        .collect();
    world
        .forge
        .fault(Fault::next("POST", "/graphql", Answer::Status(502)));
    let mut got = 0;
    let client = world.client();
    client.blobs(&wanted, 1000, |_, _| got += 1).await.unwrap();
    assert_eq!(got, 20);
    world
        .forge
        .fault(Fault::next("POST", "/graphql", Answer::Status(502)).times(100));
    let error = client.blobs(&wanted, 1000, |_, _| {}).await.unwrap_err();
    assert!(matches!(error, ForgeError::Transient(_)), "{error}");
}

/// The fake forge checks every request against the token's permissions, so that the tests of the job
/// show that these are enough.
#[test]
fn the_manifest_asks_for_what_the_tokens_carry_and_gives_a_reason_for_each() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/app-manifest.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "default_permissions:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .collect();
    let mut asked = Vec::new();
    for pair in lines.windows(2) {
        let [before, line] = pair else { unreachable!() };
        if let Some((name, level)) = line.trim().split_once(": ")
            && !line.trim().starts_with('#')
        {
            assert!(before.trim().starts_with('#'), "{name} has no reason");
            asked.push((name, level));
        }
    }
    // For an event's delivery alone.
    asked.retain(|right| ![("issues", "read"), ("merge_queues", "read")].contains(right));
    asked.sort_unstable();
    assert_eq!(asked, frostline::forge::github::PERMISSIONS);
}

#[test]
fn the_manifest_subscribes_to_every_event_of_use_and_gives_a_reason_for_each() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/app-manifest.yml");
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "default_events:")
        .collect();
    let mut events = Vec::new();
    for pair in lines.windows(2) {
        if let Some(event) = pair[1].trim().strip_prefix("- ") {
            assert!(pair[0].trim().starts_with('#'), "{event} has no reason");
            events.push(event);
        }
    }
    events.sort_unstable();
    let mut used = frostline::webhook::USED.to_vec();
    used.sort_unstable();
    assert_eq!(events, used);
}
