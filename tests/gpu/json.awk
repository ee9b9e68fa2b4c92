# The records of tools/gpu-check as one JSON object.

BEGIN {
    FS = "\t"
}

$2 == "made" || $2 == "device" {
    add("made", pair($3, value($3, $4)))
}

$2 == "agree" {
    agree = $3 == 0 ? "true" : "false"
    counts = pair("names", $4) ", " pair("different", $3) ", " pair("missing", $5)
}

$2 == "check" {
    add("checks", "{" pair("name", quoted($3)) ", " pair("result", quoted($4)) ", " pair("why", quoted($5)) "}")
}

$2 == "name" {
    add("names_" $1, "{" pair("symbol", quoted($3)) ", " pair("base", quoted($4)) ", " pair("since", $5) ", " \
        pair("flags", $6) ", " pair("dlsym", quoted($7)) ", " pair("v1", quoted($8)) ", " \
        pair("v2", quoted($9)) ", " pair("status", $10) "}")
}

$2 == "version" {
    add("versions_" $1, "{" pair("base", quoted($3)) ", " pair("version", $4) ", " pair("flags", $5) ", " \
        pair("v1", quoted($6)) ", " pair("v2", quoted($7)) ", " pair("status", $8) "}")
}

$2 == "memory" {
    add("memory_" $1, "{" pair("what", quoted($3)) ", " pair("asked_bytes", $4) ", " pair("bytes", $5) "}")
}

# A call that failed has no pairs, and its result in the place of a median.
$2 == "time" {
    add("times_" $1, "{" pair("what", quoted($3)) ", " pair("bytes", $4) ", " pair("count", $5) ", " \
        ($5 == 0 ? pair("result", $6) : pair("median_ns", $6) ", " pair("min_ns", $7) ", " pair("max_ns", $8)) "}")
}

$2 == "pairs" {
    add("pairs", quoted($3))
}

$2 == "answer" {
    if (!($3 in text)) {
        text[$3] = $4
        question[++questions] = $3
    }
    answer[$1, $3] = $5
}

END {
    printf "{\n  \"made\": {%s},\n", list["made"]
    printf "  \"addresses_agree\": %s,\n  \"addresses\": {%s},\n", agree ? agree : "null", counts
    for (i = 1; i <= questions; i++)
        add("answers", "{" pair("name", quoted(question[i])) ", " pair("question", quoted(text[question[i]])) ", " \
            said("driver", i) ", " said("library", i) ", " said("simcuda", i) "}")
    count = split("checks answers names_driver names_library versions_driver versions_library " \
        "memory_driver memory_library memory_simcuda times_driver times_library pairs", part, " ")
    for (i = 1; i <= count; i++)
        printf "  %s: [\n    %s\n  ]%s\n", quoted(part[i]), list[part[i]], i < count ? "," : ""
    print "}"
}

function add(name, item)
{
    list[name] = list[name] (list[name] == "" ? "" : name == "made" ? ", " : ",\n    ") item
}

function pair(name, text_of_value)
{
    return quoted(name) ": " text_of_value
}

function said(run, i)
{
    return pair(run, (run, question[i]) in answer ? quoted(answer[run, question[i]]) : "null")
}

# Numbers as they are.
function value(name, text_of_it)
{
    if (name == "simulated")
        return text_of_it == "yes" ? "true" : "false"
    return text_of_it ~ /^-?[0-9]+$/ ? text_of_it : quoted(text_of_it)
}

function quoted(string)
{
    gsub(/\\/, "\\\\", string)
    gsub(/"/, "\\\"", string)
    gsub(/[\001-\037]/, " ", string)
    return "\"" string "\""
}
