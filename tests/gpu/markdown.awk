# The records of tools/gpu-check as a page of Markdown: what was checked, the driver's answers beside the
# simulated one's, and what calls take.

BEGIN {
    FS = "\t"
}

$2 == "made" || $2 == "device" {
    made[$3] = $4
}

$2 == "agree" {
    agree = $3 == 0 ? "yes, for " $4 " names" : "no, " $3 " of " $4 " differ"
}

$2 == "check" {
    check[++checks] = "| " $3 " | " $4 " | " cell($5) " |"
}

$2 == "name" && $1 == "driver" && $7 != "none" && ($8 != "same" || $9 != "same") {
    odd[++odds] = "| " $3 " | " $4 " at " $5 " | " $8 " | " $9 " | " $10 " |"
}

$2 == "answer" {
    if (!($3 in text)) {
        text[$3] = $4
        question[++questions] = $3
    }
    answer[$1, $3] = $5
}

$2 == "memory" {
    key = $3 " | " ($4 == 0 ? "" : $4)
    if (!(key in held)) {
        held[key] = 1
        memory[++memories] = key
    }
    taken[$1, key] = $5
}

$2 == "time" {
    key = $3 " | " ($4 == 0 ? "" : size($4))
    if (!(key in timed)) {
        timed[key] = 1
        row[++rows] = key
    }
    time[$1, key] = $5 == 0 ? "fails with " $6 : sprintf("%.2f", $6 / 1000)
}

$2 == "pairs" {
    pairs = pairs $3 "\n"
}

END {
    print "dlsym and cuGetProcAddress answer with the same addresses: " (agree ? agree : "not known") "."
    printf "\n%s, driver %s%s, %s, Linux %s, %s%s.\n\n", made["name"], made["driver_version"],
        made["driver_release"] ? " (" made["driver_release"] ")" : "", made["cpu"], made["kernel"], made["date"],
        made["simulated"] == "yes" ? "; the simulated driver stood in for the GPU's" : ""
    table("Checks", "what | result | why", check, checks)
    for (i = 1; i <= questions; i++) {
        driver = said("driver", i)
        library = said("library", i)
        simulated = said("simcuda", i)
        asked[i] = "| " cell(text[question[i]]) " | " driver " | " (library == driver ? "the same" : "**" library "**") \
            " | " (simulated == driver ? "the same" : simulated) " |"
    }
    table("Answers", "question | driver's answer | under the library | simulated driver's answer", asked, questions)
    table("Names for which the two look-ups differ, or one form is not there", \
        "symbol | looked up as | v1 | v2 | status", odd, odds)
    for (i = 1; i <= rows; i++)
        line[i] = "| " row[i] " | " time["driver", row[i]] " | " time["library", row[i]] " |"
    table("Time, us, median", "calls | size | plain | under the library", line, rows)
    if (pairs)
        printf "```\n%s```\n\n", pairs
    for (i = 1; i <= memories; i++)
        share[i] = "| " memory[i] " | " took("driver", memory[i]) " | " took("library", memory[i]) " | " \
            took("simcuda", memory[i]) " |"
    table("Memory, by cuMemGetInfo, bytes", "what | asked | driver | under the library | simulated driver", share, memories)
}

function table(title, header, lines, count,    i, columns)
{
    if (count == 0)
        return
    print "## " title "\n\n| " header " |"
    columns = split(header, ignored, " \\| ")
    for (i = 1; i <= columns; i++)
        printf "|---"
    print "|"
    for (i = 1; i <= count; i++)
        print lines[i]
    print ""
}

function said(run, i)
{
    return (run, question[i]) in answer ? cell(answer[run, question[i]]) : "-"
}

function took(run, key)
{
    return (run, key) in taken ? taken[run, key] : "-"
}

function cell(string)
{
    gsub(/\|/, "\\|", string)
    return string
}

function size(bytes)
{
    return bytes >= 1073741824 ? bytes / 1073741824 " GiB" : bytes >= 1048576 ? bytes / 1048576 " MiB" \
        : bytes >= 1024 ? bytes / 1024 " KiB" : bytes " B"
}
