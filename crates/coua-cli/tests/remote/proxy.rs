//! A proxy between program and server that can break connections, and switch to another server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU16, Ordering};
use std::thread;

/// Never cut.
const WHOLE: i64 = i64::MAX;

#[derive(Debug)]
struct State {
    server: AtomicU16,
    /// The bytes of replies until the connection is broken once.
    replies_left: AtomicI64,
}

/// A port that leads to a server.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

impl Proxy {
    pub(crate) fn to(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let replies_left = AtomicI64::new(WHOLE);
        let state = Arc::new(State { server: AtomicU16::new(server), replies_left });
        let shared = state.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                connect(client.unwrap(), &shared);
            }
        });
        Self { port, state }
    }

    /// Directs new connections to this server.
    pub(crate) fn lead_to(&self, server: u16) {
        self.state.server.store(server, Ordering::SeqCst);
    }

    /// Breaks the connection once, after this number of bytes of replies: the server's later work is unknown to the
    /// program.
    pub(crate) fn cut_after(&self, replies: i64) {
        self.state.replies_left.store(replies, Ordering::SeqCst);
    }

    /// Whether the connection was broken since then.
    pub(crate) fn was_cut(&self) -> bool {
        self.state.replies_left.load(Ordering::SeqCst) > i64::MAX / 2
    }
}

fn connect(client: TcpStream, state: &Arc<State>) {
    // Without a server the connection is closed at once.
    let Ok(server) = TcpStream::connect(("127.0.0.1", state.server.load(Ordering::SeqCst))) else {
        return;
    };
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || copy(from, to, |_| true));
    let state = state.clone();
    thread::spawn(move || {
        copy(server, client, |bytes| {
            let left = state.replies_left.fetch_sub(bytes, Ordering::SeqCst);
            if left <= bytes {
                state.replies_left.store(WHOLE, Ordering::SeqCst);
            }
            left > bytes
        });
    });
}

/// Copies bytes while `pass` is true, then closes both ends.
fn copy(mut from: TcpStream, mut to: TcpStream, pass: impl Fn(i64) -> bool) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !pass(i64::try_from(length).unwrap()) || to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    // The other side may have closed its end already.
    from.shutdown(Shutdown::Both).ok();
    to.shutdown(Shutdown::Both).ok();
}
