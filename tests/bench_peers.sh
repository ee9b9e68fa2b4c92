#!/bin/sh
# What bench/peers makes of what it measured: ratios within a round, medians, and verdicts on
# Tidemark's figures alone.
# Usage: bench_peers.sh BUILD_FOLDER
set -eu
judge=$1/bench/judge
bench=$(cd "$(dirname "$0")/../bench" && pwd)
# shellcheck source=tests/expect.sh
. "$(dirname "$0")/expect.sh"

tab=$(printf '\t')

# figures: those of the rounds written so far, as bench/peers has them judged.
figures() {
    awk -f "$bench/peers_samples.awk" "$expect_work/peers_bounds" "$expect_work"/[0-9]*.* |
        "$judge" | tr '\t' ' '
}

# round NUMBER LIMIT_NS TIDEMARK_NS FAULTS
round() {
    printf '%s\n' "limit cpu_ns $2" "tidemark cpu_ns $3" "tidemark faults $4" \
        "glibc faults 900" >"$expect_work/$1.bind"
}

printf '%s\n' '# COLUMN FIGURE BOUND' 'bind faults 0' 'bind cpu_ns/limit 1.1x' 'cold faults 10' \
    >"$expect_work/peers_bounds"
for number in 1 2 3 4 5; do
    round "$number" "$((number * 100))" "$((number * 105))" 0
done
results=$(figures)
expect_match "a ratio is within its round" \
    '^tidemark bind cpu_ns/limit 1[.]05 1[.]05 1[.]05 1[.]1x within$' "$results"
expect_match "a count is held against its bound" \
    '^tidemark bind faults 0 0 0 0 within$' "$results"
expect_match "others are not judged" '^glibc bind faults 900 900 900 - -$' "$results"
expect_match "what was not measured has no line" '^0$' "$(echo "$results" | grep -c cold)"

round 1 100 105 7
round 2 100 105 7
expect_match "the median counts" '^tidemark bind faults 0 0 7 0 within$' "$(figures)"
round 3 100 105 7
expect_match "a count over its bound is over" '^tidemark bind faults 7 0 7 0 over$' "$(figures)"

for number in 1 2 3 4 5; do
    round "$number" 100 120 0
done
expect_match "a ratio over its bound is over" 'limit 1[.]2 1[.]2 1[.]2 1[.]1x over$' "$(figures)"
round 1 100 300 0
expect_match "what scatters is not resolvable" 'not resolvable$' "$(figures)"

rm "$expect_work/1.bind" "$expect_work/2.bind"
expect_match "few rounds resolve no ratio" 'limit 1[.]2 1[.]2 1[.]2 1[.]1x not resolvable$' "$(figures)"

expect_match "a line without values is refused" '^exit 1$' \
    "$(echo "key${tab}-${tab}" | "$judge" 2>&1 || echo "exit $?")"

plot()
{
    figures | tr ' ' '\t' | awk -F '\t' -v OFS='\t' '{ print $1 " " $2 " " $3, $4, $5, $6, $7, $8 }' |
        "$bench/peers_plot" "$expect_work/picture.svg" bind 2>&1 || echo "exit $?"
}
if command -v gnuplot >/dev/null; then
    expect_match "ratios are drawn without a word" '^0$' "$(plot | wc -c)"
    expect_match "each allocator has its colour and each column its place" '^tidemark bind $' \
        "$(grep -o 'tidemark\|>bind' "$expect_work/picture.svg" | tr -d '>' | sort -ru | tr '\n' ' ')"
    expect_match "nothing is drawn of nothing" '^exit 1$' \
        "$("$bench/peers_plot" "$expect_work/none.svg" bind 2>&1 </dev/null || echo "exit $?")"
else
    echo 'skip pictures: gnuplot is not installed'
fi

expect_end
