//! *What is asked for, and when?* Scenarios as streams of operations, for a real kernel and for the simulated computer.
//!
//! A [`Scenario`] names a machine, its settings and a [`Workload`]; a workload is a set of tasks, each with a program of
//! [`Op`]s that is a function of the seed alone; [`drive`] runs a program on a [`System`], be it a real kernel or a model.
//!
//! ```
//! use workload::{Op, Scenario};
//!
//! let scenario = Scenario::shipped("kbuild-mix").unwrap();
//! let workload = scenario.workload();
//! let burst = workload.roots().pop().unwrap();
//! let first: Vec<Op> = workload.program(&burst.spawn).take(2).collect();
//! assert!(matches!(first[..], [Op::Pace { .. }, Op::Map { bytes: 83_886_080, .. }]));
//! ```
#![forbid(unsafe_code)]

pub mod bounds;
mod drive;
pub mod fsmark;
pub mod kbuild_mix;
pub mod kbuild_thp;
mod khugepaged;
mod kind;
mod machine;
mod measure;
pub mod oom_loop;
mod op;
mod paper;
pub mod parallelio;
mod random;
mod rounds;
mod run_report;
mod saved;
mod scale;
mod scenario;
mod spawn;
pub mod stress_highalloc;
mod system;
pub mod thpfioscale;
pub mod thpscale;
mod timed_faults;
mod toml_error;
mod words;
mod workload;

pub use drive::{Mark, Program, Span, TaskReport, Timing, drive};
pub use khugepaged::Khugepaged;
pub use machine::{
    CostModel, DeviceSpeed, DirectoryBlockKib, Filesystem, Machine, MachineChange, PageKib, SlabAllocator,
};
pub use measure::{Better, Measure};
pub use op::{Access, Advice, FileId, FileMapping, GfpClass, HandleId, MEETINGS, Op, PIECE, RegionId, rest_of_piece};
pub use paper::{on_paper, ready};
pub use random::Random;
pub use rounds::{Script, program, quota};
pub use run_report::{LabelTotal, RoleTotal, RunReport};
pub use saved::{Saved, SavedError, save};
pub use scale::{Scale, ScaleError};
pub use scenario::{Scenario, ScenarioError, Settings, ThpDefrag, ThpEnabled, Variant};
pub use spawn::{Spawn, TaskId};
pub use system::{Errno, System, Touched};
pub use toml_error::{TomlError, read_toml};
pub use words::{FORMS, Form, Operand, Words};
pub use workload::{Root, Workload};
