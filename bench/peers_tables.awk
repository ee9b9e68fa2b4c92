# Prints what bench/judge made of the samples as tables in Markdown. -v allocators and
# staging_columns are lists of names, in order.

BEGIN {
    FS = "\t"
    allocator_count = split(allocators, allocator, " ")
    staging_count = split(staging_columns, staging, " ")
}

{
    median[$1] = $2
    low[$1] = $3
    high[$1] = $4
    if ($6 != "-")
        judged[++judged_count] = $1
    bound[$1] = $5
    verdict[$1] = $6
}

# A number with as many digits as mean something.
function short(value)
{
    return value >= 100 || value == int(value) ? sprintf("%.0f", value) \
        : value >= 10 ? sprintf("%.1f", value) : sprintf("%.2f", value)
}

function figure(name, where, what,    key)
{
    key = name " " where " " what
    return key in median ? short(median[key]) : "-"
}

function interval(name, where, what,    key)
{
    key = name " " where " " what
    return key in median ? " [" short(low[key]) "-" short(high[key]) "]" : ""
}

function scaled(name, where, what, unit,    key)
{
    key = name " " where " " what
    return key in median ? short(median[key] / unit) : "-"
}

function staging_cell(name, where, with_intervals)
{
    return figure(name, where, "faults") " · " figure(name, where, "cpu_ns/limit") "x" \
        (with_intervals ? interval(name, where, "cpu_ns/limit") : "") " · " \
        figure(name, where, "rss_mb")
}

function cold_cell(name)
{
    return figure(name, "cold", "faults") " · " scaled(name, "cold", "wall_ns", 1e6) " ms"
}

function header(first, list, count,    i, line, rule)
{
    line = "| " first " |"
    rule = "|---|"
    for (i = 1; i <= count; i++) {
        line = line " " list[i] " |"
        rule = rule "---|"
    }
    print line
    print rule
}

# Faults, CPU against the limit and RSS of the staging columns from one to another; the cold
# bind behind them where asked for.
function print_staging(from, to, with_intervals, with_cold,    i, j, count, list, line)
{
    for (j = from; j <= to; j++)
        list[++count] = staging[j]
    if (with_cold)
        list[++count] = "cold bind"
    header("", list, count)
    line = "| *limit, CPU ms a bind* |"
    for (j = from; j <= to; j++)
        line = line " *" scaled("limit", staging[j], "cpu_ns", 1e6) "* |"
    print line (with_cold ? "  |" : "")
    for (i = 1; i <= allocator_count; i++) {
        if (allocator[i] == "limit")
            continue
        line = "| " allocator[i] " |"
        for (j = from; j <= to; j++)
            line = line " " staging_cell(allocator[i], staging[j], with_intervals) " |"
        print line (with_cold ? " " cold_cell(allocator[i]) " |" : "")
    }
}

function print_calls(    i, j, line)
{
    header("", staging, staging_count)
    for (i = 1; i <= allocator_count; i++) {
        line = "| " allocator[i] " |"
        for (j = 1; j <= staging_count; j++)
            line = line " " figure(allocator[i], staging[j], "calls") " + " \
                figure(allocator[i], staging[j], "file_calls") " |"
        print line
    }
    line = "| tidemark, by its own count |"
    for (j = 1; j <= staging_count; j++)
        line = line " " figure("tidemark", staging[j], "own_calls") " |"
    print line
}

function claim_cell(name, where)
{
    return figure(name, where, "pair_ns") " · " figure(name, where, "pair/bare") "x" \
        interval(name, where, "pair/bare")
}

function fork_cell(name, where)
{
    if (name == "limit")
        return "-"
    return figure(name, where, "idle_us") " · " figure(name, where, "idle/none") "x · " \
        figure(name, where, "block_faults") " + " figure(name, where, "claim_faults")
}

function fall_cell(name)
{
    return name == "limit" ? "-" : figure(name, "fall", "fallen_mb") " / " \
        figure(name, "fall", "fresh_mb")
}

function print_rest(    i, name)
{
    print "| | 1 MiB, 1 thread | 1 MiB, 2 threads | mixed, 1 thread | mixed, 2 threads |" \
        " fork, 1 block | fork, 64 blocks | fallen demand |"
    print "|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= allocator_count; i++) {
        name = allocator[i]
        printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", name,
            claim_cell(name, "claim-1"), claim_cell(name, "claim-2"),
            figure(name, "mixed-1", "pair_ns"), figure(name, "mixed-2", "pair_ns"),
            fork_cell(name, "fork-1"), fork_cell(name, "fork-64"), fall_cell(name)
    }
}

function print_judged(    i, part, key)
{
    print "| Tidemark | figure | measured | bound | |"
    print "|---|---|---|---|---|"
    for (i = 1; i <= judged_count; i++) {
        key = judged[i]
        split(key, part, " ")
        printf "| %s | %s | %.4g%s | %s | %s |\n", part[2], part[3], median[key],
            bound[key] ~ /x$/ ? interval(part[1], part[2], part[3]) : "", bound[key], verdict[key]
    }
}

END {
    print "Page faults of a steady bind · CPU time as a multiple of the limit's · peak RSS, MB; cold bind:"
    print "page faults · wall time of the first bind of a process.\n"
    print_staging(1, staging_count, 0, 1)
    print "\nThe same with the intervals of the multiples (90 %):\n"
    half = int((staging_count + 1) / 2)
    print_staging(1, half, 1, 0)
    print ""
    print_staging(half + 1, staging_count, 1, 0)
    print "\nSystem calls of a steady bind, memory + files:\n"
    print_calls()
    print "\nA pair of malloc and free, ns · against a bare pop and push (mixed: 64 KiB-16 MiB, 8 live);"
    print "64 MiB idle: fork and end of the child, us · against none idle · page faults of the next bind, in"
    print "blocks + elsewhere; MB resident after demand fell to a tenth / in a process where it was never more:\n"
    print_rest()
    print ""
    print_judged()
}
