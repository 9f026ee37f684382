//! Settings that `CONFIG SET coua.NAME` changes.

use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ops::RangeInclusive;
use std::ptr::from_ref;
use std::sync::atomic::{AtomicI64, Ordering};

use super::value_type::set_on_damaged;
use super::{FAILED, OK, catch_panic, raw, server_function};

/// The unit of a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// A plain number.
    Number,
    /// Bytes, which may be written as `64mb`.
    Bytes,
}

/// A whole number that can be set.
pub(crate) struct Setting {
    /// Its name; the server puts `coua.` before it.
    pub(crate) name: &'static CStr,
    /// Its unit.
    pub(crate) unit: Unit,
    /// Its default.
    pub(crate) default: i64,
    /// Its range.
    pub(crate) permitted: RangeInclusive<i64>,
    value: AtomicI64,
}

impl Setting {
    /// A setting with its default value and its limits.
    pub(crate) const fn new(
        name: &'static CStr,
        unit: Unit,
        default: i64,
        permitted: RangeInclusive<i64>,
    ) -> Self {
        Self { name, unit, default, permitted, value: AtomicI64::new(default) }
    }

    /// The value now.
    pub(crate) fn value(&self) -> i64 {
        self.value.load(Ordering::Relaxed)
    }
}

/// The argument that is no setting: it matters only while the server starts.
const ON_DAMAGED: &CStr = c"on-damaged";

/// Makes the settings known to the server, and takes the values from its configuration file.
/// The module's arguments, `NAME VALUE ...`, are other defaults.
pub(super) fn register_settings(
    settings: &'static [&'static Setting],
    context: *mut raw::RedisModuleCtx,
    arguments: &[&[u8]],
) -> Result<(), String> {
    let mut pairs = arguments.chunks_exact(2);
    let given: Vec<_> = pairs.by_ref().map(|pair| (pair[0], pair[1])).collect();
    if let Some((_, word)) = given.iter().find(|(name, _)| is(ON_DAMAGED, name)) {
        set_on_damaged(word)?;
    }
    let is_known =
        |name: &[u8]| is(ON_DAMAGED, name) || settings.iter().any(|setting| is(setting.name, name));
    if let Some((name, _)) = given.iter().find(|(name, _)| !is_known(name)) {
        return Err(format!("unknown setting '{}'", name.escape_ascii()));
    }
    if let [name] = pairs.remainder() {
        return Err(format!("setting '{}' has no value", name.escape_ascii()));
    }
    for setting in settings {
        register(context, setting, argument(&given, setting.name)?)?;
    }
    // SAFETY: called once, while the module is loaded.
    let loaded = unsafe { server_function!(RedisModule_LoadConfigs)(context) };
    if loaded == OK { Ok(()) } else { Err("the server refused a setting".to_owned()) }
}

/// Whether a word is this name. RedisBloom has underscores in place of hyphens.
fn is(name: &CStr, word: &[u8]) -> bool {
    let hyphen = |&byte: &u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    word.iter().map(hyphen).eq(name.to_bytes().iter().copied())
}

/// The value that is given to the setting of this name.
fn argument<'a>(given: &[(&[u8], &'a [u8])], name: &CStr) -> Result<Option<&'a str>, String> {
    let found = given.iter().find(|(word, _)| is(name, word));
    let text = found.map(|(_, value)| std::str::from_utf8(value)).transpose();
    text.map_err(|_| format!("setting {} is not UTF-8", name.to_string_lossy()))
}

/// A number, of bytes with a unit if it is wanted so, as the server takes it in CONFIG SET.
fn number_of(text: &str, unit: Unit) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("kb", 1 << 10),
        ("mb", 1 << 20),
        ("gb", 1 << 30),
        ("k", 1_000),
        ("m", 1_000_000),
        ("g", 1_000_000_000),
        ("b", 1),
    ];
    let lower = text.to_ascii_lowercase();
    let of_unit = |&(name, bytes): &(&str, i64)| Some((lower.strip_suffix(name)?, bytes));
    let (digits, bytes) = match unit {
        Unit::Bytes => UNITS.iter().find_map(of_unit).unwrap_or((&lower, 1)),
        Unit::Number => (lower.as_str(), 1),
    };
    digits.parse::<i64>().ok()?.checked_mul(bytes)
}

fn register(
    context: *mut raw::RedisModuleCtx,
    setting: &'static Setting,
    argument: Option<&str>,
) -> Result<(), String> {
    let name = setting.name.to_string_lossy();
    let (least, most) = (*setting.permitted.start(), *setting.permitted.end());
    let default = match argument {
        None => setting.default,
        Some(text) => number_of(text, setting.unit)
            .filter(|number| setting.permitted.contains(number))
            .ok_or_else(|| {
                format!("setting {name} is '{text}', but must be a number from {least} to {most}")
            })?,
    };
    let flags = match setting.unit {
        Unit::Number => raw::REDISMODULE_CONFIG_DEFAULT,
        Unit::Bytes => raw::REDISMODULE_CONFIG_MEMORY,
    };
    // SAFETY: the setting lives for ever, and the two functions take it for what it is.
    let registered = unsafe {
        server_function!(RedisModule_RegisterNumericConfig)(
            context,
            setting.name.as_ptr(),
            default,
            flags,
            least,
            most,
            Some(number),
            Some(set_number),
            None,
            from_ref(setting).cast_mut().cast(),
        )
    };
    if registered == OK { Ok(()) } else { Err(format!("setting {name} cannot be registered")) }
}

unsafe extern "C" fn number(_name: *const c_char, setting: *mut c_void) -> c_longlong {
    // SAFETY: registered with this setting, which lives for ever.
    catch_panic(0, || unsafe { &*setting.cast::<Setting>() }.value())
}

unsafe extern "C" fn set_number(
    _name: *const c_char,
    value: c_longlong,
    setting: *mut c_void,
    _error: *mut *mut raw::RedisModuleString,
) -> c_int {
    catch_panic(FAILED, || {
        // SAFETY: registered with this setting, which lives for ever.
        let setting = unsafe { &*setting.cast::<Setting>() };
        setting.value.store(value, Ordering::Relaxed);
        OK
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_may_have_a_unit() {
        let bytes = |text| number_of(text, Unit::Bytes);
        assert_eq!(bytes("1000"), Some(1_000));
        assert_eq!(
            [bytes("64mb"), bytes("64MB"), bytes("2k"), bytes("7b")],
            [Some(64 << 20), Some(64 << 20), Some(2_000), Some(7)]
        );
        for wrong in ["", "mb", "1.5gb", "9999999999gb", "1 mb", "1tb"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
        assert_eq!(
            [number_of("12", Unit::Number), number_of("1k", Unit::Number)],
            [Some(12), None]
        );
    }
}
