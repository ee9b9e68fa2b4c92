# Gathers the values of all rounds: from peers_bounds, then files ROUND.COLUMN with lines "NAME FIGURE
# VALUE", to lines "NAME COLUMN FIGURE<tab>BOUND<tab>VALUE VALUE...", those with a bound first. Adds the
# ratios of times to those of the allocators that others are held against, each within its round.

function add(name, figure, value,    key)
{
    key = name " " column " " figure
    if (!(key in values))
        order[++keys] = key
    values[key] = values[key] " " value
}

function add_ratios(figure, base,    name)
{
    for (name in names)
        if ((name, figure) in now && now[base, figure] > 0)
            add(name, figure "/" base, now[name, figure] / now[base, figure])
}

function end_file()
{
    add_ratios("cpu_ns", "limit")
    add_ratios("cpu_ns", "glibc-tuned")
    add_ratios("wall_ns", "mimalloc")
    split("", now)
    split("", names)
}

FILENAME ~ /peers_bounds$/ {
    if ($1 ~ /^#/)
        next
    key = "tidemark " $1 " " $2
    order[++keys] = key
    values[key] = ""
    bound[key] = $3
    next
}

FNR == 1 {
    end_file()
    column = FILENAME
    sub(/.*\/[0-9]+\./, "", column)
}

{
    names[$1]
    now[$1, $2] = $3
    add($1, $2, $3)
}

END {
    end_file()
    for (i = 1; i <= keys; i++) {
        key = order[i]
        if (values[key] != "")
            printf "%s\t%s\t%s\n", key, key in bound ? bound[key] : "-", substr(values[key], 2)
    }
}
