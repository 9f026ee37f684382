//! The available memory. Linux has it in files; elsewhere it is unknown.

use std::fs;
use std::path::Path;

/// Bytes of memory available, within the limits of the process's control groups; none if unknown.
#[must_use]
pub fn available() -> Option<u64> {
    let free = number_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")? * 1024;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(within_groups(Path::new("/sys/fs/cgroup"), &groups).map_or(free, |left| left.min(free)))
}

/// The least memory that any control group of the process leaves, including parent groups. In a container
/// the paths may be those of the host, while `root` is the container's own group.
fn within_groups(root: &Path, groups: &str) -> Option<u64> {
    let lines =
        groups.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok());
    let left = lines.filter_map(|[_, controllers, path]: [&str; 3]| {
        let (mount, limit, used) = match controllers {
            "" => (root.to_owned(), "memory.max", "anon"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes", "total_rss")
            }
            _ => return None,
        };
        let path = Path::new(path.trim_start_matches('/'));
        path.ancestors().filter_map(|group| left_in(&mount.join(group), limit, used)).min()
    });
    left.min()
}

/// The memory that one group leaves. Cached pages of files do not count as used, because the system drops them when
/// memory is needed.
fn left_in(group: &Path, limit: &str, used: &str) -> Option<u64> {
    let limit: u64 = fs::read_to_string(group.join(limit)).ok()?.trim().parse().ok()?;
    let used = number_of(&fs::read_to_string(group.join("memory.stat")).ok()?, used)?;
    Some(limit.saturating_sub(used))
}

/// The number in the line that begins with a name.
fn number_of(lines: &str, name: &str) -> Option<u64> {
    let mut words = lines.lines().map(str::split_ascii_whitespace);
    words.find_map(|mut words| (words.next()? == name).then(|| words.next())?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn there_is_some_memory() {
        let available = available().expect("Linux tells");
        assert!(available > 16 << 20, "{available}");
    }

    #[test]
    fn the_strictest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, limit: [&str; 2], stat: &str| {
            let folder = root.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(limit[0]), limit[1]).unwrap();
            fs::write(folder.join("memory.stat"), stat).unwrap();
        };
        let left = |groups: &str| within_groups(root.path(), groups);
        assert_eq!(left("4:memory:/\n0::/\n"), None);

        group("unit/job", ["memory.max", "max\n"], "anon 10\nfile 5000\n");
        assert_eq!(left("0::/unit/job\n"), None);
        group("unit", ["memory.max", "1000\n"], "file 5000\nanon 100\n");
        assert_eq!((left("0::/unit/job\n"), left("1:cpu:/unit\n0::/\n")), (Some(900), None));

        let limit = "memory.limit_in_bytes";
        group("memory", [limit, "500\n"], "rss 7\ntotal_rss 600\n");
        assert_eq!(left("9:cpu,memory:/of the host/a:b\n0::/unit\n"), Some(0));
        group("memory/a:b", [limit, "300\n"], "total_rss 10\n");
        group("memory", [limit, "9223372036854771712\n"], "total_rss 600\n");
        assert_eq!(left("9:memory:/a:b\n0::/unit/job\n"), Some(290));
    }
}
