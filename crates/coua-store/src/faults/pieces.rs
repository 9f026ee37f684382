//! Snapshots are written in whole pieces, also where a file has several filters in it.

use super::{Fault, Faulty, Then, bytes_of, in_memory};
use crate::checkpoint::{PIECE, write_snapshot};
use crate::fs::{Disk, FileSystem};
use crate::log::Target;
use coua::CuckooFilter;
use coua::window::{Clock, Generations, Window};

#[test]
fn all_pieces_but_the_last_are_whole() {
    let filter = || CuckooFilter::builder().capacity(20_000).rate(0.001).build().unwrap();
    let window = Window::new(Clock::Arrival, 20_000, 2).unwrap();
    let filters = || [filter().into(), Generations::from_template(window, filter())];
    for filter in filters() {
        let folder = in_memory();
        let path = folder.path().join("snapshot");
        let disk = Faulty::new(usize::MAX, Fault::Nothing, Then::Recovers);
        std::fs::write(&path, "").unwrap();
        let (file, path) = FileSystem.create(&path).unwrap();
        let to = Target { disk: &*disk, file: &file, path: &path };
        write_snapshot(to, &filter, u64::MAX, &|| false).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes == bytes_of(&filter));
        let steps = disk.steps.lock().unwrap();
        let writes = steps.iter().filter(|step| **step == "write").count();
        assert!(writes > 5);
        assert_eq!(writes, bytes.len().div_ceil(PIECE));
    }
}
