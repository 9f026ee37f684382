//! The capacity of a window: the last items by number, the share of a generation, and the limit of all.

use super::{dedup, info, write};
use crate::support::{Folder, json};
use coua::CuckooFilter;
use coua::window::{Clock, Window};

#[test]
fn the_last_items() {
    let numbers =
        |from: u32, to: u32| (from..to).map(|n| format!("{n}\n")).collect::<Vec<_>>().concat();
    let folder = Folder::new();
    let window = Window::new(Clock::Count, 100, 10).unwrap();
    let filter = CuckooFilter::builder().rate(0.001).build_window(window).unwrap();
    write(&folder, filter);
    let window = ["--window", "100-items", "--rate", "0.001"];
    assert_eq!(dedup(&folder, &numbers(0, 150), &window).text(), numbers(0, 150));
    assert_eq!(dedup(&folder, &numbers(50, 150), &[]).text(), "", "the last hundred");
    let again = dedup(&folder, &numbers(0, 40), &window).text();
    assert_eq!(again, numbers(0, 40), "not those before, but for a generation");
    let info = info(&folder, &[]);
    assert_eq!(
        (&info["window"]["clock"], &info["window"]["present"]),
        (&"items".into(), &190.into())
    );
    assert!(info["items"].as_u64().unwrap() <= 110);
    let run = dedup(&folder, "", &["--stats=json"]);
    let stats = json(&run.stderr);
    let rate = stats["items"].as_f64().unwrap() / stats["hash_bits"].as_f64().unwrap().exp2();
    assert!((stats["false_positive_rate"].as_f64().unwrap() - rate).abs() < 1e-9);
    assert_eq!(stats["rate_at_capacity"], info["rate_at_capacity"]);
    // The rate holds for all items that the generations can contain together.
    assert_eq!(info["capacity"], 110);
    assert!(info["rate_at_capacity"].as_f64().unwrap() <= 0.001);
}

/// The requested capacity is divided among the generations; the rate is not.
#[test]
fn capacity_is_shared() {
    let folder = Folder::new();
    let asked = ["--window", "8h", "--capacity", "800000", "--rate", "0.001", "COUA_NOW", "0"];
    dedup(&folder, "a\n", &asked).good();
    let one = info(&folder, &["COUA_NOW", "0"]);
    let room = one["room"].as_u64().unwrap();
    assert!((100_000..150_000).contains(&room), "{room}");
    assert_eq!(one["capacity"], 800_000);
    assert!(one["rate_at_capacity"].as_f64().unwrap() <= 0.001);
}

#[test]
fn a_full_window_has_room_again() {
    let folder = Folder::new();
    let limit = ["--window", "1h", "--rate", "0.01", "--capacity", "4", "--when-full", "stop"];
    let options = |now| [&limit[..], &["COUA_NOW", now]].concat();
    let full = dedup(&folder, "a\nb\na\nc\nd\ne\nf\n", &options("0"));
    assert_eq!((full.code, full.stdout.as_slice()), (Some(3), &b"a\nb\nc\nd\n"[..]));
    assert!(full.stderr.contains("holds 4 items, and its limit is 4"), "{}", full.stderr);
    assert_eq!(dedup(&folder, "e\na\n", &options("4500")).text(), "e\na\n");
}
