//! How each contestant is drawn: the same in every chart.

use plotters::style::{RGBColor, ShapeStyle};

/// Colour, width and whether the line is dashed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    pub(super) colour: RGBColor,
    pub(super) width: u32,
    pub(super) dashed: bool,
}

/// Those that are drawn. Of one crate's several ways one or two stand for it, or nobody could tell
/// the lines apart; the tables have all.
const LOOKS: [(&str, u32, u32); 18] = [
    ("coua", 0x00_1f_77, 3),
    ("coua, batches", 0x1f_6f_eb, 3),
    ("coua windows, batches", 0x00_a3_bf, 3),
    ("coua default, batches", 0x6a_8f_d8, 3),
    ("coua shared, batches", 0x7a_3e_d6, 2),
    ("cuckoofilter", 0xe6_9f_00, 1),
    ("scalable_cuckoo_filter", 0xa0_52_2d, 1),
    ("autoscale_cuckoo_filter", 0xd5_5e_00, 1),
    ("atomic-cuckoo-filter", 0xcc_79_a7, 1),
    ("cuckoo-clock", 0xb0_a0_00, 1),
    ("qfilter", 0x00_8f_3c, 1),
    ("fastbloom", 0x7f_7f_7f, 1),
    ("growable-bloom-filter", 0x9a_9a_5a, 1),
    ("sbbf-rs-safe", 0xb5_57_ff, 1),
    ("coua BloomFilter", 0x8a_a4_c8, 1),
    ("coua ScalableBloomFilter", 0x8a_a4_c8, 1),
    ("xorf binary fuse", 0xd6_27_28, 1),
    ("hashbrown, exact keys", 0x00_00_00, 1),
];

/// What lines begin with that are no contestants but limits.
const LIMIT: &str = "limit";

/// How this line is drawn; None: it is left to the table.
pub(super) fn look(name: &str) -> Option<Look> {
    if name.starts_with(LIMIT) {
        return Some(Look { colour: RGBColor(90, 90, 90), width: 2, dashed: true });
    }
    let &(_, colour, width) = LOOKS.iter().find(|look| look.0 == name)?;
    let part = |shift: u32| (colour >> shift) as u8;
    Some(Look { colour: RGBColor(part(16), part(8), part(0)), width, dashed: false })
}

impl Look {
    pub(super) fn style(self) -> ShapeStyle {
        ShapeStyle::from(&self.colour).stroke_width(self.width)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{LOOKS, look};
    use crate::peers::entries;

    #[test]
    fn every_look_belongs_to_a_contestant() {
        let names: HashSet<&str> = entries::<u64>().iter().map(|entry| entry.name).collect();
        for (name, ..) in LOOKS {
            assert!(names.contains(name), "{name}");
        }
        assert!(look("limit: whatever").unwrap().dashed);
        assert_eq!(look("nobody"), None);
    }
}
