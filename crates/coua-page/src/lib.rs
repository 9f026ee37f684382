//! The page of `coua explore`: how a cuckoo filter works, and a look into a real one.
//!
//! It is one HTML file that asks nothing of any server: the library is in it as WebAssembly. The page is made by the
//! build script from the files in `page`.

include!(concat!(env!("OUT_DIR"), "/made.rs"));

/// The page.
///
/// # Errors
///
/// Why it was not made when this program was built.
pub const fn page() -> Result<&'static str, &'static str> {
    match MADE {
        Some(page) => Ok(page),
        None => Err(REASON),
    }
}

/// A filter that is served beside the page under the name `filter`.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// What the page calls it.
    pub name: &'a str,
    /// Its length.
    pub bytes: u64,
    /// The secret key of its hash, as hexadecimal digits; empty if the page is not to know it.
    pub key: &'a str,
}

/// The page, told of a filter.
///
/// # Errors
///
/// As [`page`].
pub fn page_about(Served { name, bytes, key }: Served<'_>) -> Result<String, &'static str> {
    let name = name.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let told = format!(r#"data-file="{name}" data-size="{bytes}" data-key="{key}""#);
    Ok(page()?.replacen(r#"data-file="" data-size="" data-key="""#, &told, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_attribute() {
        let Ok(told) = page_about(Served { name: r#"a"><b>&.coua"#, bytes: 7, key: "0f" }) else {
            println!("skipped: the page was not made: {REASON}");
            return;
        };
        assert!(
            told.contains(r#"data-file="a&quot;>&lt;b>&amp;.coua" data-size="7" data-key="0f""#)
        );
    }

    #[test]
    fn the_page_is_small_and_whole() {
        let Ok(page) = page() else {
            println!("skipped: the page was not made: {REASON}");
            return;
        };
        assert!(page.len() <= 250_000, "{}", page.len());
        for placeholder in ["WASM_PACKED", "SCRIPT_PACKED", "/* STYLE */"] {
            assert!(!page.contains(placeholder), "{placeholder}");
        }
        assert!(!page.contains("http://") && !page.contains("https://"));
    }
}
