//! Running other programs.

use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use wait_timeout::ChildExt;

use crate::paths;

/// Refuses arguments that a task does not take.
pub(crate) fn no_more(mut args: lexopt::Parser) -> Result<()> {
    match args.next()? {
        Some(arg) => Err(arg.unexpected().into()),
        None => Ok(()),
    }
}

/// `program` with `args`, to be run in the root.
pub(crate) fn command<A: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    args: impl IntoIterator<Item = A>,
) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(paths::root()).stdin(Stdio::null());
    command
}

/// The cargo that runs this task, with `args`.
pub(crate) fn cargo<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// The command as one would type it, without the folders before the program's name.
pub(crate) fn display(command: &Command) -> String {
    let program = command.get_program();
    let program = std::path::Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(program).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Shows the command, runs it, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", display(command));
    let status = command.status().with_context(|| format!("cannot start {}", display(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", display(command));
    }
    Ok(())
}

/// Whether the command can be run and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What the command prints on stdout.
pub(crate) fn stdout(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {}", display(command)))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", display(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of `{}`", display(command)))
}

/// How a command with a time limit ended.
pub(crate) struct Ended {
    /// `None`: it was ended when its time was up.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs the command for at most `limit`, and takes what it prints.
pub(crate) fn run_for(command: &mut Command, limit: Duration) -> Result<Ended> {
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.with_context(|| format!("cannot start {}", display(command)))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let stdout = scope.spawn(|| read(stdout));
        let stderr = scope.spawn(|| read(stderr));
        let status = wait(&mut child, limit)?;
        let join =
            |thread: thread::ScopedJoinHandle<'_, String>| thread.join().expect("reading does not panic");
        Ok(Ended { status, stdout: join(stdout), stderr: join(stderr) })
    })
}

fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let status = child.wait_timeout(limit)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

fn read(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before an error is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
