//! Reading a saved stream: all of it is checked at once, so that a run meets no surprise.

use super::{END, MAGIC, SavedError, VERSION, line};
use crate::{Op, Program, Root, Spawn, TaskId, Workload};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// What a root does when its operations are used up and others still work.
const IDLE: Op = Op::Sleep { nanos: 1_000_000_000 };

/// A saved stream: a workload like any other. It is kept as text, some 18 bytes an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    text: Arc<str>,
    roles: Vec<String>,
    labels: Vec<String>,
    roots: Vec<Root>,
    /// Where the operations of each task stand.
    tasks: HashMap<TaskId, Section>,
}

/// Operations of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Section {
    /// Place in the text.
    lines: Range<usize>,
    /// Line of its heading.
    heading: usize,
    ops: u64,
}

/// Somebody forks a task.
struct Forked {
    parent: TaskId,
    task: TaskId,
    line: usize,
}

/// A stream being read.
struct Reader<'t> {
    text: &'t str,
    /// Where the next line begins.
    at: usize,
    /// Number of the line that was read last.
    line: usize,
}

impl<'t> Iterator for Reader<'t> {
    /// Where a line with something in it begins, and the line.
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<(usize, &'t str)> {
        while self.at < self.text.len() {
            let begin = self.at;
            let rest = &self.text[begin..];
            let length = rest.find('\n').unwrap_or(rest.len());
            self.at = (begin + length + 1).min(self.text.len());
            self.line += 1;
            let line = content(&rest[..length]);
            if !line.is_empty() {
                return Some((begin, line));
            }
        }
        None
    }
}

/// A line without comment and space around.
fn content(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

impl Reader<'_> {
    fn error<T>(&self, what: impl Into<String>) -> Result<T, SavedError> {
        Err(SavedError { line: self.line.max(1), what: what.into() })
    }
}

impl Saved {
    /// Reads a stream.
    ///
    /// # Errors
    /// [`SavedError`] with the line of the first thing that is wrong.
    pub fn parse(text: String) -> Result<Saved, SavedError> {
        let text: Arc<str> = text.into();
        let mut reader = Reader { text: &text, at: 0, line: 0 };
        check_version(&mut reader)?;
        let mut saved = Saved {
            text: text.clone(),
            roles: Vec::new(),
            labels: Vec::new(),
            roots: Vec::new(),
            tasks: HashMap::new(),
        };
        let (mut forks, mut root_lines) = (Vec::new(), Vec::new());
        let mut begun: Option<(TaskId, Section)> = None;
        while let Some((place, line)) = reader.next() {
            let mut words = line.split_ascii_whitespace();
            match words.next().unwrap_or_default() {
                END => {
                    saved.close(begun, place);
                    saved.check_end(&mut reader, words.next())?;
                    saved.check_family(&root_lines, &forks)?;
                    return Ok(saved);
                }
                "task" => {
                    saved.close(begun, place);
                    let task = saved.check_heading(&reader, line)?;
                    begun = Some((task, Section { lines: reader.at..reader.at, heading: reader.line, ops: 0 }));
                }
                _ => match &mut begun {
                    None => {
                        saved.head(&reader, line)?;
                        root_lines.resize(saved.roots.len(), reader.line);
                    }
                    Some((parent, section)) => {
                        section.ops += 1;
                        forks.extend(saved.check_op(&reader, *parent, line)?);
                    }
                },
            }
        }
        reader.error(format!("the stream ends without `{END}`: it was cut off"))
    }

    /// Reads a line before the first task.
    fn head(&mut self, reader: &Reader, line: &str) -> Result<(), SavedError> {
        match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
            ["role", name] => self.roles.push(name.to_owned()),
            ["label", name] => self.labels.push(name.to_owned()),
            ["root", task, role, argument, seed, "quota", quota] => {
                let root = root([task, role, argument, seed, quota]);
                let Some(root) = root else { return reader.error("a number of this root can't be read") };
                self.check_role(reader, root.spawn.role)?;
                if self.roots.iter().any(|earlier| earlier.spawn.task == root.spawn.task) {
                    return reader.error(format!("root {task} stands here twice"));
                }
                self.roots.push(root);
            }
            _ => return reader.error("here come lines `role NAME`, `label NAME`, `root ...`, and then `task`"),
        }
        Ok(())
    }

    fn check_role(&self, reader: &Reader, role: u16) -> Result<(), SavedError> {
        match self.roles.len() > usize::from(role) {
            true => Ok(()),
            false => reader.error(format!("role {role} has no name: there are {}", self.roles.len())),
        }
    }

    fn check_heading(&self, reader: &Reader, line: &str) -> Result<TaskId, SavedError> {
        let ["task", task] = line.split_ascii_whitespace().collect::<Vec<_>>()[..] else {
            return reader.error("a task's heading is `task NUMBER`");
        };
        let number = line::bits(task).or_else(|why| reader.error(why))?;
        match self.tasks.contains_key(&TaskId(number)) {
            true => reader.error(format!("task {task} stands here twice")),
            false => Ok(TaskId(number)),
        }
    }

    /// Checks an operation. Returns whom it forks.
    fn check_op(&self, reader: &Reader, parent: TaskId, line: &str) -> Result<Option<Forked>, SavedError> {
        match line::parse(line).or_else(|why| reader.error(why))? {
            Op::Fork(child) => {
                self.check_role(reader, child.role)?;
                Ok(Some(Forked { parent, task: child.task, line: reader.line }))
            }
            Op::Begin { label } | Op::Mark { label } | Op::For { label, .. }
                if self.labels.len() <= usize::from(label) =>
            {
                reader.error(format!("label {label} has no name: there are {}", self.labels.len()))
            }
            _ => Ok(None),
        }
    }

    fn close(&mut self, begun: Option<(TaskId, Section)>, place: usize) {
        if let Some((task, mut section)) = begun {
            section.lines.end = place;
            self.tasks.insert(task, section);
        }
    }

    fn check_end(&self, reader: &mut Reader, count: Option<&str>) -> Result<(), SavedError> {
        if count.and_then(|count| count.parse().ok()) != Some(self.tasks.len()) {
            return reader.error(format!("the stream has {} tasks, and says something else", self.tasks.len()));
        }
        match reader.next() {
            Some(_) => reader.error(format!("something follows `{END}`")),
            None => Ok(()),
        }
    }

    /// Everybody is either a root or forked once, by somebody who is started: so each task's operations are those of one task, and forking
    /// comes to an end.
    fn check_family(&self, root_lines: &[usize], forks: &[Forked]) -> Result<(), SavedError> {
        let error = |line, what: String| Err(SavedError { line, what });
        if self.roots.is_empty() {
            return error(1, "the stream has no root: nobody would do anything".to_owned());
        }
        for (root, &line) in self.roots.iter().zip(root_lines) {
            if !self.tasks.contains_key(&root.spawn.task) {
                return error(line, format!("root {:x} has no operations in this stream", root.spawn.task.0));
            }
        }
        let mut started: HashSet<TaskId> = self.roots.iter().map(|root| root.spawn.task).collect();
        let mut children: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for fork in forks {
            let number = fork.task.0;
            if !self.tasks.contains_key(&fork.task) {
                return error(fork.line, format!("task {number:x} is forked, but has no operations in this stream"));
            }
            if !started.insert(fork.task) {
                return error(fork.line, format!("task {number:x} is started already"));
            }
            children.entry(fork.parent).or_default().push(fork.task);
        }
        // Those of a ring each have somebody who forks them, and none of them ever begins.
        let mut waiting: Vec<TaskId> = self.roots.iter().map(|root| root.spawn.task).collect();
        let mut begin = HashSet::new();
        while let Some(task) = waiting.pop() {
            begin.insert(task);
            waiting.extend(children.remove(&task).into_iter().flatten());
        }
        self.check_sections(&begin)
    }

    /// Everybody begins some time, and has what it owes.
    fn check_sections(&self, begin: &HashSet<TaskId>) -> Result<(), SavedError> {
        let quota =
            |task: &TaskId| self.roots.iter().find(|root| root.spawn.task == *task).map_or(0, |root| root.quota);
        let wrong = |(task, section): (&TaskId, &Section)| {
            let (line, ops, quota) = (section.heading, section.ops, quota(task));
            match begin.contains(task) {
                false => Some(SavedError { line, what: format!("nobody starts task {:x}", task.0) }),
                true if quota > ops => {
                    Some(SavedError { line, what: format!("the task owes {quota} operations, but has {ops}") })
                }
                true => None,
            }
        };
        self.tasks.iter().filter_map(wrong).min_by_key(|error| error.line).map_or(Ok(()), Err)
    }
}

/// A root of its words: task, role, argument, seed, quota.
fn root([task, role, argument, seed, quota]: [&str; 5]) -> Option<Root> {
    let spawn = Spawn {
        task: TaskId(line::bits(task).ok()?),
        role: role.parse().ok()?,
        argument: argument.parse().ok()?,
        seed: line::bits(seed).ok()?,
    };
    Some(Root { spawn, quota: quota.parse().ok()? })
}

fn check_version(reader: &mut Reader) -> Result<(), SavedError> {
    let Some((_, first)) = reader.next() else { return reader.error("the stream is empty") };
    match first.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [MAGIC, version] if version == VERSION.to_string() => Ok(()),
        [MAGIC, version] => reader.error(format!("version {version} of the format; this fraglab reads {VERSION}")),
        _ => reader.error(format!("no operation stream: it would begin with `{MAGIC} {VERSION}`")),
    }
}

/// A task's operations, read from the text as they are needed.
struct Lines {
    text: Arc<str>,
    left: Range<usize>,
}

impl Iterator for Lines {
    type Item = Op;

    fn next(&mut self) -> Option<Op> {
        loop {
            let rest = &self.text[self.left.clone()];
            if rest.is_empty() {
                return None;
            }
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = content(&rest[..length]);
            self.left.start = (self.left.start + length + 1).min(self.left.end);
            if !line.is_empty() {
                // Every line was checked when the stream was read.
                return line::parse(line).ok();
            }
        }
    }
}

impl Workload for Saved {
    fn roots(&self) -> Vec<Root> {
        self.roots.clone()
    }

    fn program(&self, spawn: &Spawn) -> Program {
        let left = self.tasks.get(&spawn.task).map_or(0..0, |section| section.lines.clone());
        let lines = Lines { text: self.text.clone(), left };
        match self.roots.iter().any(|root| root.spawn.task == spawn.task) {
            true => Box::new(lines.chain(std::iter::repeat(IDLE))),
            false => Box::new(lines),
        }
    }

    fn roles(&self) -> Vec<&str> {
        self.roles.iter().map(String::as_str).collect()
    }

    fn labels(&self) -> Vec<&str> {
        self.labels.iter().map(String::as_str).collect()
    }
}
