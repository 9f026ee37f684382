//! What time it is.

/// Milliseconds since 1970.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn now() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970. WebAssembly has no clock: whoever runs it brings one.
#[cfg(target_family = "wasm")]
pub(crate) fn now() -> u64 {
    #[link(wasm_import_module = "coua")]
    unsafe extern "C" {
        safe fn coua_now() -> u64;
    }
    coua_now()
}
