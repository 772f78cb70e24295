//! QEMU: its command line.

use super::error::VmError;
use super::job::Disk;
use super::spec::{Accel, Machine};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The program.
pub const PROGRAM: &str = "qemu-system-x86_64";
/// The Debian package that has it.
pub const PACKAGE: &str = "qemu-system-x86";

/// The files that a boot needs.
#[derive(Clone, Debug)]
pub struct BootFiles {
    /// The kernel image.
    pub kernel: PathBuf,
    /// The initramfs.
    pub initramfs: PathBuf,
    /// Images of the drives.
    pub disks: Vec<(Disk, PathBuf)>,
    /// Where the serial console goes; `None` is the terminal.
    pub console: Option<PathBuf>,
    /// Rate of the host's time-stamp counter in kHz, if known.
    pub tsc_khz: Option<u64>,
}

/// Decides [`Accel::Auto`].
pub fn resolve_accel(accel: Accel) -> Result<Accel, VmError> {
    let kvm_opens = || File::options().read(true).write(true).open("/dev/kvm");
    match accel {
        Accel::Auto if !is_virtual_host() && kvm_opens().is_ok() => Ok(Accel::Kvm),
        Accel::Auto | Accel::Tcg => Ok(Accel::Tcg),
        Accel::Kvm => match kvm_opens() {
            Ok(_) => Ok(Accel::Kvm),
            Err(error) => Err(VmError::Specification(format!(
                "/dev/kvm can't be opened ({error}): ask for tcg, or leave it to auto"
            ))),
        },
    }
}

fn is_virtual_host() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

/// The kernel's command line: a panic ends the machine, addresses and clock are steady, the user's words come last and win.
/// `tsc_khz` is the rate of the host's time-stamp counter, if known.
pub fn kernel_cmdline(machine: &Machine, accel: Accel, tsc_khz: Option<u64>) -> String {
    let mut words = ["console=ttyS0", "quiet", "panic=-1", "nokaslr"].map(str::to_owned).to_vec();
    if accel == Accel::Tcg {
        // Emulated time-stamp counters look unstable to the kernel's watchdog when the host is busy.
        words.push("tsc=reliable".to_owned());
        words.extend(tsc_khz.map(|khz| format!("tsc_early_khz={khz}")));
        // Nor does its timer come in time for the boot's check of how interrupts are wired, which then panics.
        words.push("no_timer_check".to_owned());
    }
    words.extend(machine.cmdline.iter().cloned());
    words.join(" ")
}

/// QEMU's arguments.
pub fn arguments(machine: &Machine, accel: Accel, files: &BootFiles) -> Vec<OsString> {
    let mut arguments = Arguments::default();
    let (accel_argument, cpu) = match accel {
        Accel::Kvm => ("kvm", "host"),
        _ => ("tcg,thread=multi", "max,la57=off"),
    };
    arguments.pair("-accel", accel_argument);
    arguments.pair("-machine", "pc");
    arguments.pair("-cpu", cpu);
    arguments.pair("-m", format!("{}M", machine.memory_mib));
    // One CPU a socket: only so can each of them be put on a node.
    arguments.pair("-smp", format!("{0},sockets={0},cores=1,threads=1", machine.cpus));
    if machine.nodes > 1 {
        nodes(&mut arguments, machine);
    }
    arguments.flag("-nodefaults");
    arguments.flag("-no-reboot");
    arguments.pair("-display", "none");
    arguments.pair("-nic", "none");
    arguments.pair("-monitor", "none");
    match &files.console {
        Some(path) => arguments.pair("-serial", with_path("file:", path)),
        // Without signals, Ctrl-C reaches the shell in the guest.
        None => {
            arguments.pair("-chardev", "stdio,id=console,signal=off");
            arguments.pair("-serial", "chardev:console");
        }
    }
    arguments.pair("-kernel", &files.kernel);
    arguments.pair("-initrd", &files.initramfs);
    arguments.pair("-append", kernel_cmdline(machine, accel, files.tsc_khz));
    for (disk, path) in &files.disks {
        drive(&mut arguments, *disk, path);
    }
    arguments.0
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn flag(&mut self, name: &str) {
        self.0.push(name.into());
    }

    fn pair(&mut self, name: &str, value: impl Into<OsString>) {
        self.0.push(name.into());
        self.0.push(value.into());
    }
}

/// A path as part of an argument; QEMU splits those at commas, and a doubled comma stands for one.
fn with_path(before: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(before);
    match path.to_str() {
        Some(text) => argument.push(text.replace(',', ",,")),
        None => argument.push(path),
    }
    argument
}

fn nodes(arguments: &mut Arguments, machine: &Machine) {
    for (node, mib) in machine.node_memory().into_iter().enumerate() {
        arguments.pair("-object", format!("memory-backend-ram,id=memory{node},size={mib}M"));
        arguments.pair("-numa", format!("node,nodeid={node},memdev=memory{node}"));
    }
    for cpu in 0..machine.cpus {
        arguments.pair("-numa", format!("cpu,node-id={},socket-id={cpu}", machine.node_of_cpu(cpu)));
    }
}

fn drive(arguments: &mut Arguments, disk: Disk, path: &Path) {
    let name = disk.serial();
    // The images are thrown away after the run: nothing is gained by waiting for the host's disk.
    let options = format!("if=none,id={name},format=raw,cache=unsafe,discard=unmap,file=");
    arguments.pair("-drive", with_path(&options, path));
    arguments.pair("-device", format!("virtio-blk-pci,drive={name},serial={name}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(machine: &Machine, accel: Accel, console: Option<&str>) -> String {
        let files = BootFiles {
            kernel: "vmlinuz".into(),
            initramfs: "a,b/initramfs".into(),
            disks: vec![(Disk::Scratch, "a,b/scratch".into()), (Disk::Out, "out".into())],
            console: console.map(PathBuf::from),
            tsc_khz: Some(2_500_000),
        };
        let arguments = arguments(machine, accel, &files);
        arguments.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_whole_command_line() {
        let machine =
            Machine { memory_mib: 1024, cmdline: vec!["kfence.sample_interval=0".to_owned()], ..Machine::default() };
        let expected = "-accel tcg,thread=multi -machine pc -cpu max,la57=off -m 1024M \
            -smp 2,sockets=2,cores=1,threads=1 -nodefaults -no-reboot -display none -nic none -monitor none \
            -serial file:console.log -kernel vmlinuz -initrd a,b/initramfs \
            -append console=ttyS0 quiet panic=-1 nokaslr tsc=reliable tsc_early_khz=2500000 no_timer_check kfence.sample_interval=0 \
            -drive if=none,id=scratch,format=raw,cache=unsafe,discard=unmap,file=a,,b/scratch \
            -device virtio-blk-pci,drive=scratch,serial=scratch \
            -drive if=none,id=out,format=raw,cache=unsafe,discard=unmap,file=out \
            -device virtio-blk-pci,drive=out,serial=out";
        assert_eq!(line(&machine, Accel::Tcg, Some("console.log")), expected);
    }

    #[test]
    fn nodes_have_memory_and_cpus_of_their_own() {
        let machine = Machine { memory_mib: 515, cpus: 2, nodes: 2, ..Machine::default() };
        let expected = "-object memory-backend-ram,id=memory0,size=256M -numa node,nodeid=0,memdev=memory0 \
            -object memory-backend-ram,id=memory1,size=259M -numa node,nodeid=1,memdev=memory1 \
            -numa cpu,node-id=0,socket-id=0 -numa cpu,node-id=1,socket-id=1 ";
        let line = line(&machine, Accel::Tcg, None);
        assert!(line.contains(expected), "{line}");
        assert!(line.contains("-chardev stdio,id=console,signal=off -serial chardev:console"), "{line}");
    }

    #[test]
    fn kvm_keeps_the_hosts_processor_and_clock() {
        let line = line(&Machine::default(), Accel::Kvm, None);
        assert!(line.starts_with("-accel kvm -machine pc -cpu host "), "{line}");
        assert!(!line.contains("tsc"), "{line}");
    }

    #[test]
    fn accel_is_never_left_open() {
        assert_ne!(resolve_accel(Accel::Auto).unwrap(), Accel::Auto);
        assert_eq!(resolve_accel(Accel::Tcg).unwrap(), Accel::Tcg);
    }
}
