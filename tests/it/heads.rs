//! Pull requests and their heads: which are found by a commit, and which speaks for it.

use std::time::Duration;

use frostline::store::{RepoKey, Task};

use crate::support::world::{AGENT, REPO, World};

const HOLE: &[(&str, &str)] = &[("app/new.py", "x = 1\n")];

fn repo(world: &World) -> RepoKey {
    let key = world.key(1);
    RepoKey {
        installation: key.installation,
        repo: key.repo,
    }
}

#[tokio::test]
async fn open_pull_requests_are_found_by_their_head_alone() {
    let world = World::new().await;
    let found = world.pull("fix", HOLE);
    let closed = world.pull("closed", HOLE);
    world
        .forge
        .edit_pull(REPO, closed, |pull| pull.open = false)
        .unwrap();
    // Its head lies in the other's history.
    world.push("longer", &[], AGENT);
    let head = world.forge.head(REPO, found).unwrap();
    world.forge.reset_branch(REPO, "longer", &head).unwrap();
    world.push("longer", &[("app/more.py", "x = 1\n")], AGENT);
    let longer = frostline::demo::forge::NewPull::new("longer", AGENT, "Longer");
    let longer = world.forge.open_pull(REPO, longer).unwrap();
    for head in [head, world.forge.head(REPO, closed).unwrap()] {
        let repo = repo(&world);
        let task = Task::Head { repo, head };
        world
            .store
            .enqueue_task(task, Duration::ZERO)
            .await
            .unwrap();
    }
    world.runner().drain().await.unwrap();
    assert_eq!(world.conclusion(found), "failure");
    assert_eq!(world.runs(closed), []);
    assert_eq!(world.runs(longer), []);
    world.forge.assert_clean();
}

#[tokio::test]
async fn a_commit_that_the_forge_does_not_know_is_no_pull_requests() {
    let world = World::new().await;
    let task = Task::Head {
        repo: repo(&world),
        head: "1".repeat(40).parse().unwrap(),
    };
    world
        .store
        .enqueue_task(task, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(world.runner().drain().await.unwrap(), 1);
    let counts = world.store.queue_counts().await.unwrap();
    assert_eq!((counts.done, counts.dead), (1, 0));
}
