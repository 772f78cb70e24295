//! What is drawn: one frame, from whatever source.

use crate::map_text::look;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use report::view::ZoneGrid;

/// One frame's content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screen {
    /// What is watched, and when.
    pub title: String,
    /// Zones.
    pub zones: Vec<ZoneState>,
    /// What counted up, a second.
    pub rates: Vec<(String, f64)>,
    /// Events, the latest first.
    pub events: Vec<String>,
    /// Pageblocks, where they are known.
    pub map: Vec<ZoneGrid>,
    /// What can't be shown, and why.
    pub notes: Vec<String>,
}

/// A zone's free memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneState {
    /// `NODE/NAME`.
    pub name: String,
    /// Free blocks by order.
    pub orders: Vec<u64>,
    /// Pageblocks by type, where they are known: name and number.
    pub blocks: Vec<(String, u64)>,
}

/// Order of a huge page, by which fragmentation is measured.
const HUGE: usize = 9;

impl ZoneState {
    fn free_pages(&self) -> u64 {
        self.orders.iter().enumerate().map(|(order, blocks)| blocks << order).sum()
    }

    /// Share of free memory in blocks too small for a huge page.
    pub fn unusable(&self) -> f64 {
        let below: u64 = self.orders.iter().enumerate().take(HUGE).map(|(order, blocks)| blocks << order).sum();
        if self.free_pages() == 0 { 0.0 } else { below as f64 / self.free_pages() as f64 }
    }

    /// The kernel's fragmentation index for huge pages: -1 if one is free, else from 0, lack of memory, to 1, fragmentation.
    pub fn index(&self) -> f64 {
        let blocks: u64 = self.orders.iter().sum();
        if blocks == 0 {
            return 0.0;
        }
        if self.orders.iter().skip(HUGE).any(|blocks| *blocks > 0) {
            return -1.0;
        }
        let per_request = (self.free_pages() * 1000) >> HUGE;
        (1000 - ((1000 + per_request) / blocks) as i64) as f64 / 1000.0
    }
}

/// Draws a frame.
pub fn draw(frame: &mut Frame, screen: &Screen) {
    let zones = zone_lines(&screen.zones, frame.area().width.saturating_sub(2));
    let blocks: usize = screen.zones.iter().filter(|zone| !zone.blocks.is_empty()).count();
    let types_height = if blocks == 0 { 0 } else { blocks as u16 + 2 };
    // What is left of a small terminal is shared by counts and map; zones are always whole.
    let left =
        frame.area().height.saturating_sub(1 + zones.len() as u16 + 2 + types_height + screen.notes.len() as u16);
    let room = if screen.map.is_empty() { left } else { left / 2 };
    let middle = (screen.rates.len() as u16 + 2).min(room).clamp(4, 16);
    let [head, orders, types, counts, map, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(zones.len() as u16 + 2),
        Constraint::Length(types_height),
        Constraint::Length(middle),
        Constraint::Min(0),
        Constraint::Length(screen.notes.len() as u16),
    ])
    .areas(frame.area());
    frame.render_widget(Line::from(screen.title.as_str()).bold(), head);
    frame.render_widget(Paragraph::new(zones).block(Block::bordered().title("Free blocks by order")), orders);
    if blocks > 0 {
        let lines: Vec<Line> = screen.zones.iter().filter(|zone| !zone.blocks.is_empty()).map(type_line).collect();
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("Pageblocks by type")), types);
    }
    let [rates, events] = Layout::horizontal([Constraint::Length(RATES), Constraint::Min(0)]).areas(counts);
    let lines: Vec<Line> =
        screen.rates.iter().map(|(name, rate)| Line::from(format!("{name:<23}{rate:>10.1}"))).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("A second")), rates);
    let lines: Vec<Line> = screen.events.iter().map(|event| Line::from(event.as_str())).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("Events")), events);
    draw_map(frame, map, &screen.map);
    let notes: Vec<Line> = screen.notes.iter().map(|note| Line::from(note.as_str()).dim()).collect();
    frame.render_widget(Paragraph::new(notes), foot);
}

/// Width of the list of rates, frame included; events take the rest.
const RATES: u16 = 35;
/// Width of all of a zone's line but its orders.
const BESIDE_ORDERS: usize = 31;

/// A line a zone. Columns are as wide as there is room for, so that none is lost on a terminal of 80.
fn zone_lines(zones: &[ZoneState], width: u16) -> Vec<Line<'static>> {
    let most = zones.iter().map(|zone| zone.orders.len()).max().unwrap_or(0);
    let column = (usize::from(width).saturating_sub(BESIDE_ORDERS) / most.max(1)).clamp(4, 7);
    let head: String = (0..most).map(|order| format!("{order:>column$}")).collect();
    let mut lines = vec![Line::from(format!("{:<12}{head}  unusable   index", "zone")).dim()];
    for zone in zones {
        let orders: String =
            zone.orders.iter().map(|blocks| format!("{:>column$}", short(*blocks, column - 1))).collect();
        let unusable = format!("{:>8.1} %", zone.unusable() * 100.0);
        let colour = if zone.unusable() > 0.9 { Color::Indexed(202) } else { Color::Reset };
        lines.push(Line::from(vec![
            Span::from(format!("{:<12}{orders}", zone.name)),
            Span::styled(unusable, Style::new().fg(colour)),
            Span::from(format!("{:>8.3}", zone.index())),
        ]));
    }
    lines
}

/// A number in at most so many characters, three at least: in thousands or millions where it needs more.
fn short(number: u64, room: usize) -> String {
    let in_units = [(1, ""), (1_000, "k"), (1_000_000, "M"), (1_000_000_000, "G")];
    let texts = in_units.map(|(unit, letter)| match number / unit {
        0 if unit > 1 => format!("<1{letter}"),
        whole => format!("{whole}{letter}"),
    });
    let fits = texts.iter().find(|text| text.len() <= room);
    fits.unwrap_or(&texts[texts.len() - 1]).clone()
}

fn type_line(zone: &ZoneState) -> Line<'static> {
    let types: String = zone.blocks.iter().map(|(name, blocks)| format!("  {name} {blocks}")).collect();
    Line::from(format!("{:<12}{types}", zone.name))
}

fn draw_map(frame: &mut Frame, area: Rect, zones: &[ZoneGrid]) {
    if zones.is_empty() || area.height < 3 {
        return;
    }
    let width = usize::from(area.width.saturating_sub(2)).max(1);
    let mut lines = Vec::new();
    for grid in zones {
        let per_cell = if grid.per_cell > 1 { format!(", {} in a character", grid.per_cell) } else { String::new() };
        lines.push(Line::from(format!("Node {}, zone {}{per_cell}", grid.zone.node, grid.zone.name)).dim());
        for cells in grid.cells.chunks(width) {
            let spans = cells.iter().map(|cell| {
                let (letter, colour) = look(*cell);
                Span::styled(letter.to_string(), Style::new().fg(Color::Indexed(colour)))
            });
            lines.push(Line::from(spans.collect::<Vec<_>>()));
        }
    }
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title("Pageblocks")), area);
}

/// Cells that there is room for in a map of a terminal of that size.
pub fn room_for_cells(width: u16, height: u16) -> usize {
    usize::from(width.saturating_sub(2)) * usize::from((height / 2).max(4))
}

#[cfg(test)]
mod tests {
    use super::{ZoneState, short};

    #[test]
    fn numbers_fit_their_columns() {
        let shown = [7, 999, 1000, 65_536, 123_456, 4_294_967].map(|number| short(number, 3));
        assert_eq!(shown, ["7", "999", "1k", "65k", "<1M", "4M"]);
        assert_eq!([999_999, 1_000_000].map(|number| short(number, 6)), ["999999", "1000k"]);
    }

    /// The same vectors as those of the model's own measure (appendix B of the reference).
    #[test]
    fn measures_are_the_kernels() {
        let zone = |orders: &[u64]| ZoneState { orders: orders.to_vec(), ..ZoneState::default() };
        let fragmented = zone(&[1000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((fragmented.index(), fragmented.unusable()), (0.998, 1.0));
        let fine = zone(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
        assert_eq!((fine.index(), fine.unusable()), (-1.0, 0.0));
        assert_eq!(zone(&[2000, 1000, 500]).orders.len(), 3);
        assert_eq!(zone(&[]).index(), 0.0);
    }
}
