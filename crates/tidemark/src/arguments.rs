//! The command line and option files, as MySQL reads them.
//!
//! An option is `--name`, `--name=value` or `--name value`; dashes and underscores are the same. In a file it is a line
//! `name` or `name = value` of a section for servers: `[mysqld]`, `[server]` or `[tidemark]`; for a command that is a
//! server's client, `[client]` or `[tidemark-backup]`. What the command line says comes after the file and so counts. Which names are system variables, and what values they take, is the SQL
//! floor's affair: here options are pairs.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    Serve,
    Check,
    Backup,
    Restore,
    Salvage,
    Help,
    Version,
    /// Show the options that count.
    PrintDefaults,
}

/// Why a command ends without having done its work.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// It was not called as it can be.
    Usage(String),
    /// It could not be done.
    Failed(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Failed(why)
    }
}

impl Failure {
    pub fn usage(why: impl Into<String>) -> Failure {
        Failure::Usage(why.into())
    }

    pub fn message(&self) -> &str {
        match self {
            Failure::Usage(why) | Failure::Failed(why) => why,
        }
    }
}

/// What `serve` does in place of serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    Server,
    /// Make a data directory, with a root that has a password or none, and end.
    Initialize {
        is_insecure: bool,
    },
    /// Look at the options, and end.
    ValidateConfig,
}

/// An option as it was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    pub name: String,
    pub value: Option<String>,
    /// The file and the line; `None`: the command line.
    pub at: Option<String>,
}

impl Given {
    fn on_command_line(name: &str, value: Option<String>) -> Given {
        Given {
            name: name.to_owned(),
            value,
            at: None,
        }
    }

    /// What is wrong with it, and where it stands.
    pub fn complain(&self, why: &str) -> String {
        match &self.at {
            Some(at) => format!("{at}: {why}"),
            None => why.to_owned(),
        }
    }
}

#[derive(Debug)]
pub struct Arguments {
    pub command: Command,
    /// Nothing at all was given.
    pub is_bare: bool,
    pub datadir: PathBuf,
    pub start: Start,
    /// With `--help`: all system variables, too.
    pub is_verbose: bool,
    /// All other options, in the order in which they count.
    pub options: Vec<Given>,
}

const COMMANDS: [(&str, Command); 5] = [
    ("serve", Command::Serve),
    ("check", Command::Check),
    ("backup", Command::Backup),
    ("restore", Command::Restore),
    ("salvage", Command::Salvage),
];
/// Options that never take a value: a word that follows one is not its.
const FLAGS: &[&str] = &[
    "help",
    "version",
    "no_defaults",
    "print_defaults",
    "initialize",
    "initialize_insecure",
    "validate_config",
    "verbose",
    "console",
    "daemonize",
];
const SERVER_SECTIONS: &[&str] = &["mysqld", "server", "tidemark"];
const CLIENT_SECTIONS: &[&str] = &["client", "tidemark-backup"];
/// How deep option files may include each other.
const INCLUDE_DEPTH_MAX: usize = 10;

impl Command {
    /// The sections of option files that are for it.
    fn sections(self) -> &'static [&'static str] {
        match self {
            Command::Backup => CLIENT_SECTIONS,
            _ => SERVER_SECTIONS,
        }
    }
}

impl Arguments {
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
        let mut command = None;
        let mut given: Vec<Given> = Vec::new();
        let mut rest = arguments.into_iter().peekable();
        while let Some(argument) = rest.next() {
            let Some(option) = argument.strip_prefix("--") else {
                let named = COMMANDS.iter().find(|(name, _)| *name == argument);
                command = Some(match (argument.as_str(), named, command) {
                    (_, Some((_, named)), None) => *named,
                    ("help" | "-h" | "-?", ..) => Command::Help,
                    ("-V", ..) => Command::Version,
                    ("-v", ..) => {
                        given.push(Given::on_command_line("verbose", None));
                        continue;
                    }
                    _ => return Err(not_understood(&argument)),
                });
                continue;
            };
            match option.split_once('=') {
                Some((name, value)) => given.push(Given::on_command_line(name, Some(value.to_owned()))),
                None => {
                    let takes_one = !FLAGS.contains(&plain(option).as_str());
                    let value = rest.next_if(|next| takes_one && !next.starts_with('-'));
                    given.push(Given::on_command_line(option, value));
                }
            }
        }
        let mut found = Arguments {
            command: command.unwrap_or(Command::Serve),
            is_bare: command.is_none() && given.is_empty(),
            datadir: PathBuf::from("./tidemark-data"),
            start: Start::Server,
            is_verbose: false,
            options: Vec::new(),
        };
        for option in given
            .iter()
            .filter(|option| plain(&option.name) == "defaults_file")
        {
            let file = option
                .value
                .as_deref()
                .ok_or_else(|| format!("--{} needs a file's name", option.name))?;
            read_file(Path::new(file), found.command.sections(), 0, &mut found.options)?;
        }
        given.retain(|option| plain(&option.name) != "defaults_file");
        found.options.append(&mut given);
        found.take_own()?;
        Ok(found)
    }

    /// Takes out an option of a command; `None` if it was not given.
    pub fn take(&mut self, name: &str) -> Result<Option<String>, Failure> {
        match self.take_given(name) {
            None => Ok(None),
            Some(Given {
                value: Some(value), ..
            }) if !value.is_empty() => Ok(Some(value)),
            Some(given) => Err(Failure::Usage(given.complain(&format!("--{name} needs a value")))),
        }
    }

    /// Takes out an option that may stand without a value; `None` if it was not given.
    pub fn take_flag(&mut self, name: &str) -> Option<Option<String>> {
        self.take_given(name).map(|given| given.value)
    }

    /// The last option of the name counts, and all go.
    fn take_given(&mut self, name: &str) -> Option<Given> {
        let options = std::mem::take(&mut self.options);
        let (mut found, kept): (Vec<Given>, _) = options
            .into_iter()
            .partition(|option| plain(&option.name) == name);
        self.options = kept;
        found.pop()
    }

    /// Fails if there are options left, which the command does not know.
    pub fn refuse_rest(&self, command: &str) -> Result<(), Failure> {
        match self.options.first() {
            Some(option) => Err(Failure::Usage(
                option.complain(&format!("{command} knows no option '{}'", option.name)),
            )),
            None => Ok(()),
        }
    }

    /// The options that count, as a command line.
    pub fn command_line(&self) -> String {
        let options = self.options.iter().map(|option| match &option.value {
            Some(value) => format!("--{}={value}", option.name),
            None => format!("--{}", option.name),
        });
        let datadir = format!("--datadir={}", self.datadir.display());
        std::iter::once(datadir)
            .chain(options)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Takes out the options that are no system variables.
    fn take_own(&mut self) -> Result<(), String> {
        let mut kept = Vec::new();
        for option in std::mem::take(&mut self.options) {
            match plain(&option.name).as_str() {
                "datadir" => match &option.value {
                    Some(dir) if !dir.is_empty() => self.datadir = PathBuf::from(dir),
                    _ => return Err(option.complain("--datadir needs a directory's name")),
                },
                "help" => self.command = Command::Help,
                "version" => self.command = Command::Version,
                "print_defaults" => self.command = Command::PrintDefaults,
                "verbose" => self.is_verbose = true,
                "no_defaults" => {}
                "initialize" => self.start = Start::Initialize { is_insecure: false },
                "initialize_insecure" => self.start = Start::Initialize { is_insecure: true },
                "validate_config" => self.start = Start::ValidateConfig,
                "daemonize" => {
                    return Err(option.complain(
                        "--daemonize is not supported: a service manager starts the server, which stays in the foreground",
                    ));
                }
                "console" => kept.push(Given {
                    name: "log_error".to_owned(),
                    value: Some("stderr".to_owned()),
                    at: option.at,
                }),
                _ => kept.push(option),
            }
        }
        self.options = kept;
        Ok(())
    }
}

/// A word that is no command, with the command that it may have been meant for.
fn not_understood(word: &str) -> String {
    let near = COMMANDS
        .iter()
        .filter(|(name, _)| tidemark_sql::spelling_distance(word, name) <= 2)
        .min_by_key(|(name, _)| tidemark_sql::spelling_distance(word, name));
    match near {
        Some((name, _)) => format!("'{word}' is not understood; did you mean '{name}'?"),
        None => format!("'{word}' is not understood; --help says what is"),
    }
}

fn plain(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

fn read_file(path: &Path, sections: &[&str], depth: usize, out: &mut Vec<Given>) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    if depth > INCLUDE_DEPTH_MAX {
        return Err(format!("{} is included too deeply", path.display()));
    }
    // Whether lines are for us; before the first section they are for nobody.
    let mut ours = None;
    for (number, line) in text.lines().enumerate() {
        let at = || format!("{}, line {}", path.display(), number + 1);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(directive) = line.strip_prefix('!') {
            include(directive, path, sections, depth, out).map_err(|why| format!("{}: {why}", at()))?;
        } else if let Some(section) = line.strip_prefix('[') {
            let section = section
                .split_once(']')
                .ok_or_else(|| format!("{}: a section's name must end with ']'", at()))?
                .0;
            ours = Some(sections.contains(&section.trim()));
        } else if ours.is_none() {
            return Err(format!("{}: an option before any [section]", at()));
        } else if ours == Some(true) {
            let (name, value) = match line.split_once('=') {
                Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
                None => (without_comment(line), None),
            };
            out.push(Given {
                name: name.to_owned(),
                value,
                at: Some(at()),
            });
        }
    }
    Ok(())
}

fn include(
    directive: &str,
    from: &Path,
    sections: &[&str],
    depth: usize,
    out: &mut Vec<Given>,
) -> Result<(), String> {
    let beside = |name: &str| from.parent().unwrap_or(Path::new(".")).join(name.trim());
    if let Some(dir) = directive.strip_prefix("includedir ") {
        let dir = beside(dir);
        let entries = fs::read_dir(&dir).map_err(|e| format!("cannot read {}: {e}", dir.display()))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "cnf" || end == "ini"));
        files.sort();
        return files
            .iter()
            .try_for_each(|file| read_file(file, sections, depth + 1, out));
    }
    match directive.strip_prefix("include ") {
        Some(file) => read_file(&beside(file), sections, depth + 1, out),
        None => Err(format!("'!{directive}' is not understood")),
    }
}

/// A value without its quotes, or without the comment behind it.
fn unquote(value: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside.to_owned();
        }
    }
    without_comment(value).to_owned()
}

fn without_comment(text: &str) -> &str {
    match text.find(" #").or_else(|| text.find("\t#")) {
        Some(at) => text[..at].trim_end(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_testing::fuzz::Corpus;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    fn pairs(found: &Arguments) -> Vec<(String, Option<String>)> {
        let options = found.options.iter();
        options
            .map(|option| (option.name.clone(), option.value.clone()))
            .collect()
    }

    fn pair(name: &str, value: &str) -> (String, Option<String>) {
        (name.into(), Some(value.into()))
    }

    #[test]
    fn options_are_written_in_three_ways() {
        let found = parse("--datadir d --port=1 --max_connections 7 --skip-ssl --socket=").unwrap();
        assert_eq!(found.command, Command::Serve);
        assert_eq!(found.datadir, Path::new("d"));
        let options = [
            pair("port", "1"),
            pair("max_connections", "7"),
            ("skip-ssl".into(), None),
            pair("socket", ""),
        ];
        assert_eq!(pairs(&found), options);
    }

    /// Files of any bytes are read, or refused; they include nothing outside their directory here.
    #[test]
    fn option_files_of_any_bytes() {
        let dir = std::env::temp_dir().join(format!("tidemark-options-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("my.cnf");
        let corpus = Corpus::new("option_file")
            .input(
                "[mysqld]\nport = 2 # two\nsql_mode='A,B'\n\nskip-ssl\n!include my.cnf\n[mysqldump]\nquick\n",
            )
            .input("[server]\r\ndatadir = \"x y\"\n; c\n[tidemark]\nloose_a=\n")
            .words("[mysqld] ] [ = ' \" # ! !include !includedir loose_ -- \\n");
        corpus.play(3000, |input| {
            fs::write(&file, input).unwrap();
            let _ = read_file(&file, SERVER_SECTIONS, 0, &mut Vec::new());
        });
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn commands() {
        assert_eq!(parse("check --datadir=x").unwrap().command, Command::Check);
        assert_eq!(parse("backup --to=x").unwrap().command, Command::Backup);
        assert_eq!(parse("serve").unwrap().command, Command::Serve);
        assert_eq!(parse("serve --help").unwrap().command, Command::Help);
        assert_eq!(parse("--version").unwrap().command, Command::Version);
        assert!(parse("surf").is_err());
        assert!(parse("serv").unwrap_err().ends_with("did you mean 'serve'?"));
        assert_eq!(
            parse("--initialize serve").unwrap().start,
            Start::Initialize { is_insecure: false }
        );
        assert_eq!(
            parse("--print-defaults --datadir=d --port 7 --skip-ssl")
                .unwrap()
                .command_line(),
            "--datadir=d --port=7 --skip-ssl"
        );
        assert!(parse("--help -v").unwrap().is_verbose);
        assert_eq!(pairs(&parse("--console").unwrap()), [pair("log_error", "stderr")]);
        assert!(parse("--daemonize").unwrap_err().contains("--daemonize"));
        assert!(parse("serve check").is_err());
        assert!(parse("--datadir").is_err());
        assert!(parse("--defaults-file=/no/such/file").is_err());
    }

    #[test]
    fn files_come_first_and_only_their_server_sections_count() {
        let dir = std::env::temp_dir().join(format!("tidemark-arguments-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("my.cnf");
        fs::write(
            &file,
            "# c\n[client]\nport=1\n[mysqld]\nport = 2 # two\nsql_mode='A,B'\n\nskip-ssl\n!include more.cnf\n[mysqldump]\nquick\n",
        )
        .unwrap();
        fs::write(dir.join("more.cnf"), "[server]\ndatadir = \"x y\"\n").unwrap();
        let client = parse(&format!("backup --defaults-file={}", file.display())).unwrap();
        assert_eq!(pairs(&client), [pair("port", "1")]);
        let found = parse(&format!("--port=3 --defaults_file={}", file.display())).unwrap();
        let options = [
            pair("port", "2"),
            pair("sql_mode", "A,B"),
            ("skip-ssl".into(), None),
            pair("port", "3"),
        ];
        assert_eq!(pairs(&found), options);
        assert_eq!(found.datadir, Path::new("x y"));
        let at = found.options[1].at.as_deref().unwrap();
        assert!(at.ends_with("my.cnf, line 6"), "{at}");
        assert_eq!(found.options[3].at, None);
        fs::write(&file, "# c\nport = 2\n[mysqld]\n").unwrap();
        let early = parse(&format!("--defaults-file={}", file.display())).unwrap_err();
        assert!(
            early.ends_with("my.cnf, line 2: an option before any [section]"),
            "{early}"
        );
        fs::write(&file, "[mysqld]\n!include my.cnf\n").unwrap();
        assert!(parse(&format!("--defaults-file={}", file.display())).is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
