#!/bin/sh
# Makes the seed corpora of all targets from the fixtures of crates/recording, the scenarios and the documentation.
set -eu
cd "$(dirname "$0")"
fixtures=../crates/recording/tests/fixtures
for target in tracedat pages format ftrace_text zoneinfo pagetypeinfo ticks frames container ops scenario; do
    mkdir -p "corpus/$target"
done
cp ../crates/workload/scenarios/*.toml ../crates/linux/tests/tiny.toml corpus/scenario/
# The example of the documentation.
awk '/^fraglab-ops/ { n = 1 } /^```/ { n = 0 } n' ../docs/operations.md > corpus/ops/example
whole=$(mktemp)
xz -dc "$fixtures/tiny/all-start-to-0.1s.dat.xz" > "$whole"
cp "$fixtures/zstd.dat" corpus/tracedat/v7-zstd
cp "$fixtures/small.dat" corpus/tracedat/small
# Two pages of events.
tail -c 8192 "$fixtures/small.dat" > corpus/pages/two
# The first formats of the file, one a seed.
strings -n 1 "$whole" | awk '
    /^name: / { n++ } n && n <= 90 { print > ("corpus/format/" n) }'
rm "$whole"
cp "$fixtures/rare.trace" corpus/ftrace_text/rare
cp "$fixtures/tiny/snap.tar.xz" "$fixtures/tiny/ticks.txt.xz" corpus/container/
xz -dc "$fixtures/tiny/ticks.txt.xz" > corpus/ticks/ticks
cp "$fixtures/tiny/bursts.tsv" corpus/ticks/bursts
awk '/^--- /{ part = $2; gsub("/", "_", part); next } /^===/{ part = ""; next }
    part { print > ("corpus/pagetypeinfo/" part) }' corpus/ticks/ticks
cp corpus/pagetypeinfo/_proc_vmstat corpus/ticks/vmstat
snapshot=$(mktemp -d)
xz -dc "$fixtures/tiny/snap.tar.xz" | tar -x -C "$snapshot"
cp "$snapshot/start.zoneinfo" corpus/zoneinfo/start
cp "$snapshot/start.pageblocks" corpus/frames/pageblocks
for part in pagestate kpageflags kpagecount; do
    head -c 4096 "$snapshot/start.$part" > "corpus/frames/$part"
done
# A small archive, packed and not.
tar -C "$snapshot" -cf corpus/container/small.tar start.mono_ns start.pageblocks
xz -k corpus/container/small.tar 2>/dev/null || true
rm -r "$snapshot"
