//! Accepts connections. In place of `axum::serve`, which sets no limit on how long a client may take
//! to send its headers and none on how many connections stay open.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{AppState, Limits, metrics_router, router};

/// A bound listener that serves the routes.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    limits: Limits,
}

impl HttpServer {
    /// Binds `address`; port 0 takes a free one (see [`HttpServer::address`]).
    pub async fn bind(address: SocketAddr, state: AppState) -> std::io::Result<Self> {
        let limits = state.limits.clone();
        Self::bind_routes(address, router(state), limits).await
    }

    /// [`HttpServer::bind`] for `/metrics` alone.
    pub async fn bind_metrics(address: SocketAddr, state: AppState) -> std::io::Result<Self> {
        let limits = state.limits.clone();
        Self::bind_routes(address, metrics_router(state), limits).await
    }

    async fn bind_routes(
        address: SocketAddr,
        routes: Router,
        limits: Limits,
    ) -> std::io::Result<Self> {
        Self::on(TcpListener::bind(address).await?, routes, limits)
    }

    /// Serves any routes on a listener.
    pub fn on(listener: TcpListener, router: Router, limits: Limits) -> std::io::Result<Self> {
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            limits,
            router,
        })
    }

    /// The address that was bound, with its real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`; then ends the requests that are being answered, and returns.
    pub async fn run(self, shutdown: CancellationToken) {
        let places = Arc::new(Semaphore::new(self.limits.connections));
        let mut connections = JoinSet::new();
        loop {
            let place = tokio::select! {
                Ok(place) = Arc::clone(&places).acquire_owned() => place,
                () = shutdown.cancelled() => break,
            };
            let stream = tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        // Out of file descriptors, most likely: that passes, and must not spin.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                        continue;
                    }
                },
                () = shutdown.cancelled() => break,
            };
            let (router, shutdown) = (self.router.clone(), shutdown.clone());
            let headers = self.limits.headers;
            connections.spawn(async move {
                serve_connection(stream, router, headers, shutdown).await;
                drop(place);
            });
            while connections.try_join_next().is_some() {}
        }
        drop(self.listener);
        while connections.join_next().await.is_some() {}
    }
}

async fn serve_connection(
    stream: TcpStream,
    router: Router,
    headers: Duration,
    shutdown: CancellationToken,
) {
    // A small answer must not wait for more to send with it.
    let _ = stream.set_nodelay(true);
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(headers)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
