//! Where a filter's memory is (mapped, loaded, or copied), and how much of the file is in the page cache.

mod available;
mod plan;
mod residency;

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use coua::window::Generations;
use coua::{KeyHash, Load, LoadError};

pub use available::available;
pub use plan::Access;
pub(crate) use plan::{Plan, Touch};
use residency::Missing;

/// Where the filter's memory is, and how much of it is used.
#[derive(Debug)]
pub(crate) struct Residence {
    access: Access,
    /// Bytes of the snapshot.
    bytes: u64,
    /// The part that was not in the page cache when the file was opened, and was not fetched in order since.
    missing: Missing,
    /// The snapshot, where some of it is missing.
    file: Option<File>,
    pub(crate) is_mapped: bool,
    /// How keys touch the filter.
    touch: Touch,
    /// Touches since it was opened, counting each key in [every generation](in_generations).
    touched: AtomicU64,
}

/// Keys, counted once per generation.
fn in_generations(filter: &Generations, keys: u64) -> u64 {
    keys.saturating_mul(filter.generations().count().max(1) as u64)
}

impl Residence {
    /// The residence of a filter that is not in a file yet.
    pub(crate) fn without_a_file(access: Access) -> Self {
        Self::new(access, 0, Missing::NONE, Touch::Change)
    }

    /// The residence of a filter in a snapshot, for lookups or changes.
    pub(crate) fn of(access: Access, snapshot: &File, bytes: u64, touch: Touch) -> Self {
        let missing = Missing::of(snapshot, bytes);
        let file = if missing == Missing::NONE { None } else { snapshot.try_clone().ok() };
        Self { file, ..Self::new(access, bytes, missing, touch) }
    }

    fn new(access: Access, bytes: u64, missing: Missing, touch: Touch) -> Self {
        let touched = AtomicU64::new(0);
        Self { access, bytes, missing, file: None, is_mapped: false, touch, touched }
    }

    /// Loads the filter in a snapshot, for these numbers of keys and of logged changes.
    pub(crate) fn load(
        &mut self,
        snapshot: &File,
        key: Option<[u8; 16]>,
        keys: u64,
        logged: u64,
    ) -> Result<Generations, LoadError> {
        if self.plan(keys, logged) != Plan::Load {
            let filter =
                Load::new().part(..self.bytes).key(key).map_file::<Generations>(snapshot)?;
            // Each generation will be searched.
            let plan = self.plan(in_generations(&filter, keys), logged);
            if plan != Plan::Load {
                self.is_mapped = true;
                self.fetch_all_if(plan);
                return Ok(filter);
            }
        }
        Load::new().part(..self.bytes).key(key).file::<Generations>(snapshot)
    }

    fn plan(&self, keys: u64, logged: u64) -> Plan {
        let work = [(self.touch, keys), (Touch::Change, logged)];
        self.access.plan(self.bytes, self.missing, &work)
    }

    /// Fetches the snapshot in order if that costs less than page by page.
    fn fetch_all_if(&mut self, plan: Plan) {
        if plan == Plan::FetchAndMap
            && let Some(file) = self.file.take()
        {
            residency::fetch_in_order(&file, self.bytes);
            self.missing = Missing::NONE;
        }
    }

    pub(crate) fn count(&self, filter: &Generations, keys: u64) {
        self.touched.fetch_add(in_generations(filter, keys), Ordering::Relaxed);
    }

    /// A better plan for a mapped filter, considering its touches so far, if there is one.
    pub(crate) fn better_plan(&self) -> Option<Plan> {
        let plan = self.plan(self.touched.load(Ordering::Relaxed), 0);
        (self.is_mapped && plan != Plan::Map).then_some(plan)
    }

    /// Counts keys, switches to memory with large pages once that pays, and fetches the keys' pages if needed.
    pub(crate) fn touch(&mut self, filter: &mut Generations, hashes: &[KeyHash]) {
        self.count(filter, hashes.len() as u64);
        match self.better_plan() {
            Some(Plan::Load) => {
                self.is_mapped = false;
                // Without enough memory it stays mapped, which is slower but correct.
                if let Ok(copy) = filter.try_clone() {
                    *filter = copy;
                }
            }
            Some(plan) => self.fetch_all_if(plan),
            None => {}
        }
        if self.is_fetched() {
            residency::fetch_pages(hashes, |keys| drop(filter.contains_batch(keys)));
        }
    }

    /// Whether pages come from a disk when they are touched.
    pub(crate) fn is_fetched(&self) -> bool {
        self.is_mapped && self.missing != Missing::NONE
    }

    /// Fetches the pages of these keys in one generation if needed.
    pub(crate) fn fetch(&self, filter: &Generations, generation: u64, hashes: &[KeyHash]) {
        let found = filter.generations().rev().find(|one| one.number == generation);
        if let Some(one) = found.filter(|_| self.is_fetched()) {
            residency::fetch_pages(hashes, |keys| drop(one.filter.contains_batch(keys)));
        }
    }
}
