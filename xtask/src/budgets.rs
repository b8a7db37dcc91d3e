//! The budgets, `ci/budgets.toml`: what each figure measured may at most be.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::boards::BOARDS;
use crate::paths;

/// Something that was measured on a board.
pub(crate) struct Figure {
    /// What, with its unit: `instructions a byte, izs none, logic`.
    pub(crate) name: String,
    pub(crate) board: &'static str,
    pub(crate) value: f64,
}

/// Name, board, limit.
type Budgets = BTreeMap<String, BTreeMap<String, f64>>;

const HEADER: &str = "\
# What each figure that `cargo xtask qemu-test` and `cargo xtask size` measure may at most be, by board. The tests fail
# when a figure passes its budget, or has none. `--tighten` writes budgets for new figures, and lowers those that a
# figure has fallen below by more than its margin (10 %); to raise one, edit it here, and say why in the commit.
";

/// A figure may rise by this factor before it passes a budget that was made from it, so that another release of
/// the compiler does not fail the tests.
const MARGIN: f64 = 1.1;

fn path() -> PathBuf {
    paths::root().join("ci/budgets.toml")
}

fn load() -> Result<Budgets> {
    let text = fs::read_to_string(path()).context("ci/budgets.toml")?;
    toml::from_str(&text).context("ci/budgets.toml")
}

/// Prints the figures beside their budgets; fails when one is passed or missing, or, where `complete` tells a name
/// for which all figures are here, when a budget is of no figure. With `tighten`, writes the budgets instead.
pub(crate) fn judge(figures: &[Figure], complete: Option<fn(&str) -> bool>, tighten: bool) -> Result<()> {
    let mut budgets = load()?;
    if tighten {
        tightened(&mut budgets, figures);
        fs::write(path(), render(&budgets)?).context("ci/budgets.toml")?;
    }
    print(figures, &budgets);
    let mut complaints: Vec<_> = figures.iter().filter_map(|figure| complaint(figure, &budgets)).collect();
    if let Some(is_measured) = complete {
        complaints.extend(stale(figures, &budgets, is_measured));
    }
    if !complaints.is_empty() {
        bail!("ci/budgets.toml:\n    {}", complaints.join("\n    "));
    }
    Ok(())
}

fn limit(budgets: &Budgets, name: &str, board: &str) -> Option<f64> {
    budgets.get(name)?.get(board).copied()
}

fn complaint(Figure { name, board, value }: &Figure, budgets: &Budgets) -> Option<String> {
    match limit(budgets, name, board) {
        None => Some(format!("{name} on {board}: {value}, and no budget; --tighten writes one")),
        Some(limit) if *value > limit => {
            Some(format!("{name} on {board}: {value}, over its budget of {limit}"))
        }
        Some(_) => None,
    }
}

/// Budgets of nothing: their program is gone, or no longer measures.
fn stale(figures: &[Figure], budgets: &Budgets, is_measured: fn(&str) -> bool) -> Vec<String> {
    let entries = budgets.iter().flat_map(|(name, boards)| boards.keys().map(move |board| (name, board)));
    entries
        .filter(|(name, board)| {
            is_measured(name)
                && !figures.iter().any(|figure| figure.name == **name && figure.board == **board)
        })
        .map(|(name, board)| format!("{name} on {board} has a budget, but was not measured"))
        .collect()
}

fn tightened(budgets: &mut Budgets, figures: &[Figure]) {
    for Figure { name, board, value } in figures {
        let new = with_margin(*value);
        let limits = budgets.entry(name.clone()).or_default();
        let limit = limits.entry((*board).to_owned()).or_insert(new);
        // What passes its budget stays so: only a hand raises one.
        *limit = limit.min(new);
    }
}

/// Whole where the figure is, else in hundredths.
fn with_margin(value: f64) -> f64 {
    let raised = value * MARGIN;
    if value.fract() == 0.0 { raised.ceil() } else { (raised * 100.0).ceil() / 100.0 }
}

fn render(budgets: &Budgets) -> Result<String> {
    let mut text = HEADER.to_owned();
    for (name, limits) in budgets {
        writeln!(text, "\n[{}]", toml::Value::from(name.as_str()))?;
        for board in BOARDS.iter().map(|board| board.name) {
            if let Some(limit) = limits.get(board) {
                writeln!(text, "{board} = {limit}")?;
            }
        }
    }
    Ok(text)
}

fn print(figures: &[Figure], budgets: &Budgets) {
    let names = figures.iter().map(|figure| figure.name.len());
    let width = names.max().unwrap_or_default();
    for Figure { name, board, value } in figures {
        let limit = limit(budgets, name, board).map_or("none".to_owned(), |limit| limit.to_string());
        println!("  {name:width$}  {board:12} {value:>10}  budget {limit:>10}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64) -> Figure {
        Figure { name: "bytes of x".into(), board: "microbit", value }
    }

    fn budget(limit: f64) -> Budgets {
        BTreeMap::from([("bytes of x".into(), BTreeMap::from([("microbit".into(), limit)]))])
    }

    #[test]
    fn a_figure_over_its_budget_or_without_one_fails() {
        assert!(complaint(&figure(100.0), &budget(100.0)).is_none());
        assert!(complaint(&figure(100.5), &budget(100.0)).is_some());
        assert!(complaint(&figure(1.0), &Budgets::new()).is_some());
    }

    #[test]
    fn a_budget_that_nothing_measures_is_told() {
        assert!(stale(&[figure(1.0)], &budget(2.0), |_| true).is_empty());
        assert_eq!(stale(&[], &budget(2.0), |_| true).len(), 1);
        assert!(stale(&[], &budget(2.0), |name| name.starts_with("other")).is_empty());
    }

    #[test]
    fn tightening_lowers_and_never_raises() {
        for (limit, value, expected) in [(500.0, 100.0, 111.0), (101.0, 100.0, 101.0), (50.0, 100.0, 50.0)] {
            let mut budgets = budget(limit);
            tightened(&mut budgets, &[figure(value)]);
            assert_eq!(budgets, budget(expected));
        }
        let mut new = Budgets::new();
        tightened(&mut new, &[figure(4.871)]);
        assert_eq!(new, budget(5.36));
        assert_eq!(toml::from_str::<Budgets>(&render(&new).unwrap()).unwrap(), new);
    }
}
