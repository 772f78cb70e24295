//! The terminal interface of `fraglab watch`.

pub mod command;
mod host;
mod replayed;
pub mod screen;

pub use host::Host;
pub use replayed::Replayed;

use crate::failure::Failure;
use ratatui::Terminal;
use ratatui::backend::{Backend, TestBackend};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use screen::{Screen, draw, room_for_cells};
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// What is watched.
pub enum Source {
    /// This host.
    Host(Host),
    /// A run or a recording.
    Replayed(Box<Replayed>),
}

impl Source {
    fn look(&mut self, width: u16, height: u16) -> Result<Screen, Failure> {
        match self {
            Source::Host(host) => host.look(),
            Source::Replayed(replayed) => replayed.look(room_for_cells(width, height)),
        }
    }
}

/// One frame as text.
pub fn once(source: &mut Source, width: u16, height: u16) -> Result<String, Failure> {
    let screen = source.look(width, height)?;
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw(frame, &screen));
    Ok(text_of(&terminal))
}

/// What stands on a terminal, without the blanks at the ends of lines.
fn text_of(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for row in buffer.content().chunks(usize::from(buffer.area.width)) {
        let line: String = row.iter().map(|cell| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}

/// Draws until the user has seen enough. The terminal is as it was afterwards, whatever happens.
pub fn run(source: &mut Source, interval: Duration) -> Result<(), Failure> {
    let mut terminal = ratatui::try_init().map_err(terminal_failed)?;
    let mut typed = |wait: Duration| if event::poll(wait)? { event::read().map(Some) } else { Ok(None) };
    let result = draw_on(&mut terminal, source, interval, &mut typed);
    ratatui::restore();
    result
}

/// What the user does within that time, if anything.
type Typed<'a> = &'a mut dyn FnMut(Duration) -> io::Result<Option<Event>>;

fn draw_on<B: Backend>(
    terminal: &mut Terminal<B>,
    source: &mut Source,
    interval: Duration,
    typed: Typed,
) -> Result<(), Failure> {
    let mut goes_on = matches!(source, Source::Host(_));
    loop {
        let size = terminal.size().map_err(terminal_failed)?;
        let screen = source.look(size.width, size.height)?;
        terminal.draw(|frame| draw(frame, &screen)).map_err(terminal_failed)?;
        let next = Instant::now() + interval;
        while let Some(event) = typed(next.saturating_duration_since(Instant::now())).map_err(terminal_failed)? {
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match act(source, key, &mut goes_on) {
                    Act::Quit => return Ok(()),
                    Act::Redraw => break,
                    Act::Nothing => {}
                },
                Event::Resize(..) => break,
                _ => {}
            }
        }
        if let Source::Replayed(replayed) = source
            && goes_on
            && Instant::now() >= next
        {
            replayed.step(interval.as_secs_f64());
            goes_on = !replayed.ended();
        }
    }
}

/// What a key does.
enum Act {
    Quit,
    Redraw,
    Nothing,
}

fn act(source: &mut Source, key: KeyEvent, goes_on: &mut bool) -> Act {
    let control_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    if control_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
        return Act::Quit;
    }
    let Source::Replayed(replayed) = source else { return Act::Nothing };
    let seconds = if key.modifiers.contains(KeyModifiers::SHIFT) { 10.0 } else { 1.0 };
    match key.code {
        KeyCode::Left => replayed.step(-seconds),
        KeyCode::Right => replayed.step(seconds),
        KeyCode::Home => replayed.step(f64::NEG_INFINITY),
        KeyCode::End => replayed.step(f64::INFINITY),
        KeyCode::Char(' ') => *goes_on = !*goes_on,
        _ => return Act::Nothing,
    }
    Act::Redraw
}

fn terminal_failed(error: impl fmt::Display) -> Failure {
    Failure::Host(format!("the terminal: {error}; --once prints a frame as text"))
}

#[cfg(test)]
mod tests;
