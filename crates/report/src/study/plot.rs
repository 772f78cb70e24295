//! Plots as small SVG files, drawn here: lines with points, 95 % intervals where several runs tell, and nothing else.

use super::expression::Expression;
use super::results::{CellId, Results};
use super::statistic::{Statistic, estimate};
use crate::text::number;
use serde::Deserialize;
use std::fmt::Write;

/// A plot.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// Name of its file, without ending.
    pub name: String,
    /// Its title.
    pub title: String,
    /// What goes to the right.
    pub x: String,
    /// What goes up.
    pub y: String,
    /// The lines.
    #[serde(rename = "line")]
    pub lines: Vec<Line>,
}

/// A line: cells at places of their own, or one cell's series at 1, 2, 3 and so on.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// What it is of.
    pub name: String,
    /// The cells, from left to right; one where it is a series.
    pub of: Vec<CellId>,
    /// What goes up, of a line of cells.
    pub figure: Option<Expression>,
    /// What goes to the right, of each cell; their numbers if left out.
    #[serde(default)]
    pub at: Vec<f64>,
    /// The figure that goes to the right, in place of `at`: for one figure against another.
    pub against: Option<Expression>,
    /// Name of a measure whose samples are the points.
    pub series: Option<String>,
}

/// A point with the ends of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    y: f64,
    low: f64,
    high: f64,
}

impl Plot {
    /// The cells that it needs.
    pub fn cells(&self) -> Vec<CellId> {
        self.lines.iter().flat_map(|line| line.of.clone()).collect()
    }

    /// The plot as SVG; `None` if no point is known.
    pub fn to_svg(&self, results: &Results) -> Option<String> {
        let lines: Vec<(&str, Vec<Point>)> =
            self.lines.iter().map(|line| (line.name.as_str(), line.points(results))).collect();
        let area = Area::around(lines.iter().flat_map(|(_, points)| points))?;
        let mut svg = self.frame(&area);
        for (at, (name, points)) in lines.iter().enumerate() {
            draw(&mut svg, &area, COLOURS[at % COLOURS.len()], points);
            let y = TOP + 14.0 * at as f64 + 4.0;
            let colour = COLOURS[at % COLOURS.len()];
            let _ = writeln!(
                svg,
                r#"<rect x="{x}" y="{y0}" width="10" height="3" fill="{colour}"/>"#,
                x = RIGHT + 10.0,
                y0 = y - 4.0
            );
            let _ = writeln!(svg, r#"<text x="{x}" y="{y}">{}</text>"#, escaped(name), x = RIGHT + 24.0);
        }
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn frame(&self, area: &Area) -> String {
        let (bottom, middle) = (HEIGHT - BOTTOM, (LEFT + RIGHT) / 2.0);
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/>
<text x="{LEFT}" y="16" font-size="13">{title}</text>
<path d="M{LEFT} {TOP}V{bottom}H{RIGHT}" fill="none" stroke="#444"/>
<text x="{middle}" y="{x_label}" text-anchor="middle">{x}</text>
<text x="{LEFT}" y="{y_label}">{y}</text>
"##,
            title = escaped(&self.title),
            x = escaped(&self.x),
            y = escaped(&self.y),
            x_label = HEIGHT - 6.0,
            y_label = TOP - 8.0,
        );
        for step in 0..=4 {
            let share = f64::from(step) / 4.0;
            let (value, at) = (area.low_y + share * (area.high_y - area.low_y), bottom - share * (bottom - TOP));
            let _ = writeln!(svg, r##"<path d="M{LEFT} {at:.1}H{RIGHT}" stroke="#ddd"/>"##);
            let _ = writeln!(
                svg,
                r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                LEFT - 5.0,
                at + 4.0,
                number(value)
            );
        }
        for &x in &area.ticks {
            let _ = writeln!(
                svg,
                r#"<text x="{:.1}" y="{}" text-anchor="middle">{}</text>"#,
                area.x(x),
                bottom + 14.0,
                number(x)
            );
        }
        svg
    }
}

impl Line {
    fn points(&self, results: &Results) -> Vec<Point> {
        if let (Some(series), Some(cell)) = (&self.series, self.of.first()) {
            let point = |(at, y): (usize, f64)| Point { x: at as f64 + 1.0, y, low: y, high: y };
            return results.series(cell, series).into_iter().enumerate().map(point).collect();
        }
        let Some(figure) = &self.figure else { return Vec::new() };
        let mut points = Vec::new();
        for (at, cell) in self.of.iter().enumerate() {
            let x = match &self.against {
                Some(against) => crate::stats::mean(&results.samples(cell, against)),
                None => Some(self.at.get(at).copied().unwrap_or(at as f64)),
            };
            let (y, interval) = estimate(&results.samples(cell, figure), Statistic::Mean);
            let (Some(x), Some(y)) = (x, y) else { continue };
            let (low, high) = interval.map_or((y, y), |interval| (interval.low, interval.high));
            points.push(Point { x, y, low, high });
        }
        points
    }
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 470.0;
const TOP: f64 = 45.0;
const BOTTOM: f64 = 40.0;
/// Told apart by those who see no difference between red and green as well.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Which part of the plane is drawn.
struct Area {
    low_x: f64,
    high_x: f64,
    low_y: f64,
    high_y: f64,
    ticks: Vec<f64>,
}

impl Area {
    fn around<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Option<Area> {
        let fold = |of: fn(&Point) -> f64, pick: fn(f64, f64) -> f64| points.clone().map(of).reduce(pick);
        let (low_x, high_x) = (fold(|p| p.x, f64::min)?, fold(|p| p.x, f64::max)?);
        let (low_y, high_y) = (fold(|p| p.low, f64::min)?.min(0.0), fold(|p| p.high, f64::max)?);
        let mut ticks: Vec<f64> = points.map(|p| p.x).collect();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let every = ticks.len().div_ceil(10).max(1);
        let ticks = ticks.into_iter().step_by(every).collect();
        let wide = |low: f64, high: f64| if high > low { high } else { low + 1.0 };
        Some(Area { low_x, high_x: wide(low_x, high_x), low_y, high_y: wide(low_y, high_y), ticks })
    }

    fn x(&self, x: f64) -> f64 {
        let margin = 15.0;
        LEFT + margin + (x - self.low_x) / (self.high_x - self.low_x) * (RIGHT - LEFT - 2.0 * margin)
    }

    fn y(&self, y: f64) -> f64 {
        HEIGHT - BOTTOM - (y - self.low_y) / (self.high_y - self.low_y) * (HEIGHT - BOTTOM - TOP)
    }
}

fn draw(svg: &mut String, area: &Area, colour: &str, points: &[Point]) {
    let path: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", area.x(p.x), area.y(p.y))).collect();
    let _ = writeln!(svg, r#"<polyline points="{}" fill="none" stroke="{colour}"/>"#, path.join(" "));
    for point in points {
        let (x, y) = (area.x(point.x), area.y(point.y));
        if point.low < point.high {
            let (low, high) = (area.y(point.low), area.y(point.high));
            let _ = writeln!(svg, r#"<path d="M{x:.1} {low:.1}V{high:.1}" stroke="{colour}"/>"#);
        }
        let _ = writeln!(svg, r#"<circle cx="{x:.1}" cy="{y:.1}" r="2.5" fill="{colour}"/>"#);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::RunFigures;

    #[test]
    fn points_lie_where_they_belong() {
        let text = "name = \"p\"\ntitle = \"a < b\"\nx = \"order\"\ny = \"events\"\n\
            [[line]]\nname = \"l\"\nof = [\"s:a\", \"s:b\"]\nfigure = \"f\"\nat = [2, 4]\n";
        let plot: Plot = toml::from_str(text).expect("a plot");
        let run = |value: f64| RunFigures { figures: [("f".to_owned(), value)].into(), ..RunFigures::default() };
        let cell = |name: &str| name.parse::<CellId>().expect("a cell");
        let runs = [(cell("s:a"), vec![run(0.0)]), (cell("s:b"), vec![run(10.0)])].into();
        let svg = plot.to_svg(&Results { runs, ..Results::default() }).expect("two points");
        assert!(svg.contains("points=\"85.0,260.0 455.0,45.0\"") && svg.contains("a &lt; b"), "{svg}");
        assert_eq!(plot.to_svg(&Results::default()), None);
    }
}
