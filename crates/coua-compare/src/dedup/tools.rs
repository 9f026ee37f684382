//! The programs, and how each is asked to do the job.
//!
//! A script finds its program in `$TOOL`, the input in `$IN`, the number of its lines in `$LINES`,
//! the result's place in `$OUT`, and room for files of its own at `$OUT.state`.

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Job {
    /// Write each distinct line once.
    Distinct,
    /// Remember all lines in a file, then look all of them up in it: those found are written.
    Remember,
}

/// A program at a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    /// What tables call it.
    pub(crate) name: &'static str,
    /// What a reader must know to compare it.
    pub(crate) remark: &'static str,
    /// Which job it does.
    pub(crate) job: Job,
    /// The program's file name.
    pub(crate) program: &'static str,
    /// A shell script.
    pub(crate) script: &'static str,
    /// The script in the program's own language.
    pub(crate) source: &'static str,
    /// It takes lines away; otherwise it shows what reading and writing alone takes.
    pub(crate) works: bool,
}

/// What all others are related to.
pub(crate) const REFERENCE: &str = "coua -j 2";

const fn tool(job: Job, name: &'static str, program: &'static str, script: &'static str) -> Tool {
    Tool { name, remark: "", job, program, script, source: "", works: true }
}

const fn distinct(name: &'static str, program: &'static str, script: &'static str) -> Tool {
    tool(Job::Distinct, name, program, script)
}

const fn remember(name: &'static str, program: &'static str, script: &'static str) -> Tool {
    tool(Job::Remember, name, program, script)
}

impl Tool {
    const fn remark(mut self, remark: &'static str) -> Self {
        self.remark = remark;
        self
    }

    const fn reads_and_writes(mut self) -> Self {
        self.works = false;
        self
    }

    const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }
}

/// All of them, the reference first.
pub(crate) const TOOLS: &[Tool] = &[
    distinct(REFERENCE, "coua", r#"exec "$TOOL" dedup --quiet -j 2 -o "$OUT" "$IN""#),
    distinct("coua -j 1", "coua", r#"exec "$TOOL" dedup --quiet -j 1 -o "$OUT" "$IN""#),
    distinct("coua", "coua", r#"exec "$TOOL" dedup --quiet -o "$OUT" "$IN""#)
        .remark("as many threads as it likes"),
    distinct("cat", "cat", r#"exec "$TOOL" "$IN" > "$OUT""#)
        .remark("copies: what the file system alone takes")
        .reads_and_writes(),
    distinct("huniq 2.7.0", "huniq", r#"exec "$TOOL" < "$IN" > "$OUT""#)
        .remark("64-bit hashes; keeps the order"),
    distinct("runiq 2.1.0", "runiq", r#"exec "$TOOL" "$IN" > "$OUT""#)
        .remark("64-bit hashes; keeps the order"),
    distinct("runiq 2.1.0 compact", "runiq", r#"exec "$TOOL" -f compact "$IN" > "$OUT""#)
        .remark("Bloom filters"),
    distinct("mawk", "mawk", r#"exec "$TOOL" '!seen[$0]++' "$IN" > "$OUT""#)
        .remark("exact; keeps the order"),
    distinct("gawk", "gawk", r#"LC_ALL=C exec "$TOOL" '!seen[$0]++' "$IN" > "$OUT""#)
        .remark("exact; keeps the order"),
    distinct("sort -u", "sort", r#"LC_ALL=C exec "$TOOL" -u --parallel=2 -o "$OUT" "$IN""#)
        .remark("exact; loses the order; two threads"),
    distinct("Python", "python3", r#"exec "$TOOL" -c "$SOURCE""#)
        .remark("exact; a set of bytes in a loop; keeps the order")
        .source(include_str!("python.py")),
    distinct("DuckDB 2.0.0", "venv/bin/python", r#"exec "$TOOL" -c "$SOURCE""#)
        .remark("exact; loses the order; two threads")
        .source(include_str!("duckdb.py")),
    distinct("Polars 2.1.0", "venv/bin/python", r#"exec "$TOOL" -c "$SOURCE""#)
        .remark("exact; loses the order; two threads")
        .source(include_str!("polars.py")),
    distinct("rbloom 1.5.4", "venv/bin/python", r#"exec "$TOOL" -c "$SOURCE""#)
        .remark("a Bloom filter in a Python loop, told the number of lines, rate 10^-6")
        .source(include_str!("rbloom.py")),
    remember(
        REFERENCE,
        "coua",
        r#""$TOOL" add --quiet -j 2 "$OUT.state" "$IN" &&
           exec "$TOOL" check -j 2 "$OUT.state" "$IN" > "$OUT""#,
    )
    .remark("adds every line, repeats too"),
    remember(
        "bloom 0.2.4",
        "bloom",
        r#""$TOOL" create -n "$LINES" -p 0.000001 "$OUT.state" &&
           "$TOOL" insert "$OUT.state" < "$IN" && exec "$TOOL" check "$OUT.state" < "$IN" > "$OUT""#,
    )
    .remark("Debian's golang-github-dcso-bloom-cli, rate 10^-6"),
    remember(
        "pwqfilter 2.0.2",
        "pwqfilter",
        r#""$TOOL" --create="$LINES" -o "$OUT.state" < "$IN" &&
           exec "$TOOL" -f "$OUT.state" < "$IN" > "$OUT""#,
    )
    .remark("Debian's passwdqc: a cuckoo filter over MD4"),
];
