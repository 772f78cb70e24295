//! The page over a directory of runs: a list, and reports of what is chosen from it. Reads, and never writes.

pub mod command;
mod runs;

use crate::commands::report::{build, page};
use crate::failure::{Failure, survive_panics};
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use report::compare::Selection;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;

/// The list, which asks for its data by itself.
const LIST: &str = include_str!("../../assets/runs.html");

/// Serves a directory until the process is ended. `ready` hears the address.
pub fn serve(dir: &Path, listen: SocketAddr, ready: impl FnOnce(SocketAddr)) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Host(format!("{listen}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        survive_panics();
        ready(listener.local_addr().map_err(failed)?);
        axum::serve(listener, router(dir, listen.ip())).await.map_err(failed)
    })
}

fn router(dir: &Path, listen: IpAddr) -> Router {
    let router = Router::new()
        .route("/", get(|| async { Html(LIST) }))
        .route("/runs.json", get(list))
        .route("/flights.json", get(flights))
        .route("/report", get(report))
        .with_state(Arc::new(dir.to_owned()));
    // A page of elsewhere must not read this one through a name that it made point here.
    if listen.is_loopback() { router.layer(middleware::from_fn(only_local_names)) } else { router }
}

async fn only_local_names(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if ["127.0.0.1", "localhost", "[::1]"].contains(&name) {
        next.run(request).await
    } else {
        (StatusCode::FORBIDDEN, "this server answers to 127.0.0.1 and localhost only\n").into_response()
    }
}

async fn list(State(dir): State<Arc<PathBuf>>) -> Response {
    json(tokio::task::spawn_blocking(move || runs::list(&dir)).await.unwrap_or_default())
}

/// Runs that go on; the list asks for them every second while there are any.
async fn flights(State(dir): State<Arc<PathBuf>>) -> Response {
    json(tokio::task::spawn_blocking(move || runs::in_flight(&dir)).await.unwrap_or_default())
}

fn json(lines: Vec<impl Serialize>) -> Response {
    let text = serde_json::to_string(&lines).unwrap_or_else(|_| "[]".to_owned());
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], text).into_response()
}

/// `/report?run=NAME&run=NAME`: the page of these runs.
async fn report(State(dir): State<Arc<PathBuf>>, Query(asked): Query<Vec<(String, String)>>) -> Response {
    let names: Vec<String> = asked.into_iter().filter(|(key, _)| key == "run").map(|(_, name)| name).collect();
    let made = tokio::task::spawn_blocking(move || page_of(&dir, &names)).await;
    match made {
        Ok(Ok(page)) => Html(page).into_response(),
        Ok(Err(failure)) => (StatusCode::BAD_REQUEST, format!("{failure}\n")).into_response(),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made: see the terminal\n").into_response(),
    }
}

fn page_of(dir: &Path, names: &[String]) -> Result<String, Failure> {
    if names.is_empty() {
        return Err(Failure::Usage("no run is asked for: choose some from the list at /".to_owned()));
    }
    let place = |name: &String| {
        let none = || Failure::Input(format!("there is no run `{name}` to be shown here"));
        runs::place(dir, name).map(Selection::Run).ok_or_else(none)
    };
    let selections: Vec<Selection> = names.iter().map(place).collect::<Result<_, _>>()?;
    Ok(page(&build(&selections, None, None)?))
}
