//! Traces as a line of Unicode blocks.

use std_io::Extent;

const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A column that no sample was taken of.
const UNKNOWN: char = '·';

/// A single bit: low, high, or both within the column.
pub(crate) fn bit(columns: &[Option<Extent>]) -> String {
    let glyph = |extent: &Option<Extent>| match extent {
        None => UNKNOWN,
        Some(Extent { min, max }) if min != max => '▒',
        Some(Extent { max, .. }) if *max > 0.0 => '█',
        Some(_) => '▁',
    };
    columns.iter().map(glyph).collect()
}

/// Values as heights between the lowest and the highest of all that are finite; a column shows the middle of its own.
pub(crate) fn analog(columns: &[Option<Extent>]) -> String {
    let finite = columns.iter().flatten().copied().filter(|extent| (extent.max - extent.min).is_finite());
    let Some(all) = finite.reduce(Extent::union).or_else(|| overall(columns)) else {
        return columns.iter().map(|_| UNKNOWN).collect();
    };
    let glyph = |extent: &Option<Extent>| match extent {
        None => UNKNOWN,
        Some(extent) => {
            let middle = extent.min / 2.0 + extent.max / 2.0;
            // Halved, so that the span of the largest floats is finite.
            let height = (middle / 2.0 - all.min / 2.0) / (all.max / 2.0 - all.min / 2.0);
            // A flat line (0 / 0) and infinities become the lowest or highest step.
            STEPS[(height * STEPS.len() as f64).clamp(0.0, 7.0) as usize]
        }
    };
    columns.iter().map(glyph).collect()
}

/// The extent of all columns.
pub(crate) fn overall(columns: &[Option<Extent>]) -> Option<Extent> {
    columns.iter().flatten().copied().reduce(Extent::union)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(min: f64, max: f64) -> Option<Extent> {
        Some(Extent { min, max })
    }

    #[test]
    fn bits() {
        assert_eq!(bit(&[at(0.0, 0.0), at(0.0, 1.0), at(1.0, 1.0), None]), "▁▒█·");
    }

    #[test]
    fn heights() {
        let columns: Vec<_> = (0..8).map(|step| at(f64::from(step), f64::from(step))).collect();
        assert_eq!(analog(&columns), "▁▂▃▄▅▆▇█");
        assert_eq!(analog(&[at(5.0, 5.0), None]), "▁·");
        assert_eq!(analog(&[at(f64::MIN, f64::MIN), at(f64::MAX, f64::MAX)]), "▁█");
        assert_eq!(analog(&[at(f64::INFINITY, f64::INFINITY)]), "▁");
        assert_eq!(analog(&[at(0.0, 0.0), at(1.0, 1.0), at(1.0, f64::INFINITY)]), "▁██");
        assert_eq!(analog(&[]), "");
    }
}
