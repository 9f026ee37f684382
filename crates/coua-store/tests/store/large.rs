//! A few changes to a large filter cost a few pages and a few bytes.

use std::fs;

use coua::CuckooFilter;
use coua_store::Options;

use crate::files::names_in;
use crate::samples::{commit, hashes, round_of};

#[test]
fn ten_thousand_changes_of_a_large_filter_write_little() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.coua");
    let mut large = CuckooFilter::builder().capacity(50_000_000).build().unwrap();
    large.insert_batch(&hashes(1, 1_000_000)).unwrap();
    large.write_to(std::fs::File::create(&path).unwrap()).unwrap();
    drop(large);
    let before = fs::metadata(&path).unwrap().len();
    assert!(before > 250_000_000, "{before}");
    let mut store = Options::new().expecting(10_000).write(&path).unwrap();
    for round in 1..=10 {
        store.insert_batch(&hashes(1 + round, 1_000)).unwrap();
        commit(&mut store, round).unwrap();
        // Writes anywhere but at the end of this file would need another file.
        assert_eq!(names_in(folder.path()), ["seen.coua"]);
    }
    store.finish().unwrap();
    let written = fs::metadata(&path).unwrap().len() - before;
    assert!((80_000..1_000_000).contains(&written), "{written}");
    let view = Options::new().expecting(1).read(&path).unwrap();
    assert_eq!((view.snapshot_bytes, view.log_bytes, view.transactions), (before, written, 10));
    assert_eq!((view.filter.len(), round_of(&view.notes)), (1_010_000, 10));
    drop(view);
    assert!(Options::new().read(&path).unwrap().filter.contains(hashes(11, 1_000)[999]));
}
