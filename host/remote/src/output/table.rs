//! Tables without lines: a heading, columns two spaces apart, and a way to fit into a narrow terminal.
//!
//! What does not fit is cut in the widest columns first, down to a few characters each; then the columns that matter
//! least are left out. Without a terminal nothing is cut, so that `grep` finds what is there.

use console::{Style, measure_text_width, pad_str, truncate_str};

use super::Output;

const GAP: usize = 2;
/// A cell that is cut further says nothing.
const CUT_MINIMUM: usize = 8;

/// A column: its heading, and whether its cells may be cut.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    heading: &'static str,
    is_whole: bool,
}

/// Rows of cells; the first column matters most.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

/// One that is shown whole or not at all: ids, mostly, because half of one is of no use.
pub fn whole(heading: &'static str) -> Column {
    Column { heading, is_whole: true }
}

pub fn text(heading: &'static str) -> Column {
    Column { heading, is_whole: false }
}

// === impl Table ===

impl Table {
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        // A cell is one line, whatever a name holds.
        self.rows.push(cells.into_iter().map(|cell| super::plain(&cell.replace(['\n', '\r', '\t'], " "))).collect());
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn lines(&self, output: &Output) -> Vec<String> {
        let widths = self.fit(output.width);
        let heading: Vec<String> = self.columns.iter().map(|column| column.heading.to_owned()).collect();
        let heading = output.paint(&Style::new().bold(), &lay_out(&heading, &widths));
        std::iter::once(heading).chain(self.rows.iter().map(|row| lay_out(row, &widths))).collect()
    }

    /// The width of each column; none for one that is left out.
    fn fit(&self, width: usize) -> Vec<Option<usize>> {
        let natural = self.columns.iter().enumerate().map(|(index, column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| measure_text_width(cell));
            cells.chain([measure_text_width(column.heading)]).max()
        });
        let mut widths: Vec<Option<usize>> = natural.collect();
        while taken(&widths) > width && self.cut(&mut widths, width) {}
        widths
    }

    /// One step narrower; false when nothing can be done any more.
    fn cut(&self, widths: &mut [Option<usize>], width: usize) -> bool {
        let too_much = taken(widths).saturating_sub(width);
        let can_be_cut = widths.iter_mut().zip(&self.columns).filter(|(_, column)| !column.is_whole);
        let widest = can_be_cut.filter_map(|(width, _)| width.as_mut()).max_by_key(|width| **width);
        if let Some(widest) = widest.filter(|widest| **widest > CUT_MINIMUM) {
            *widest = widest.saturating_sub(too_much.min(widest.div_ceil(4))).max(CUT_MINIMUM);
            return true;
        }
        // The first column stays: a row without a name is no row.
        let last = widths.iter_mut().skip(1).rev().find(|width| width.is_some());
        last.is_some_and(|last| last.take().is_some())
    }
}

/// What a line takes with these columns.
fn taken(widths: &[Option<usize>]) -> usize {
    let shown = widths.iter().flatten();
    let gaps = shown.clone().count().saturating_sub(1) * GAP;
    shown.sum::<usize>() + gaps
}

fn lay_out(cells: &[String], widths: &[Option<usize>]) -> String {
    let shown = cells.iter().zip(widths).filter_map(|(cell, width)| Some((cell, (*width)?)));
    let padded = shown.map(|(cell, width)| {
        let cut = truncate_str(cell, width, "…");
        pad_str(&cut, width, console::Alignment::Left, None).into_owned()
    });
    padded.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
}

#[cfg(test)]
mod tests;
