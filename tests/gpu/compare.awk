# What the records of tools/gpu-check (RUN KIND FIELD..., with tabs) say when runs are compared.
# Prints one of these, by -v what=:
#   agree      "DIFFERENT ALL MISSING NAME...": names for which dlsym and cuGetProcAddress differ
#   hooked     names that the library does not answer with a function of its own on every road
#   versions   look-ups that it answers with another form than the driver
#   altered    questions that it answers unlike the driver
#   simulated  questions that the simulated driver answers unlike this one
#   asked      how many there were

BEGIN {
    FS = "\t"
}

# name: 3 symbol, 4 base, 5 since, 6 flags, 7 who dlsym gives, 8 and 9 what either form gives, 10 status
$2 == "name" && $1 == "driver" {
    if ($7 == "none" && $8 == "none" && $9 == "none") {
        missing++
        next
    }
    names++
    if ($7 == "none" || odd($8) || odd($9)) {
        different++
        list = list " " $3
    }
    by_dlsym[$3] = $7
    by_first[$3] = $8
    by_second[$3] = $9
    next
}

what == "hooked" && $2 == "name" && $1 == "library" {
    if (is_lost(by_dlsym[$3], $7, "library") || is_lost(by_first[$3], $8, "same") ||
        is_lost(by_second[$3], $9, "same"))
        print $3
}

# version: 3 base, 4 version, 5 flags, 6 and 7 what either form gives, 8 status
$2 == "version" {
    look_up = $3 " at " $4 ", flags " $5
    if ($1 == "driver")
        form[look_up] = $6 "; " $7 "; " $8
    else if (what == "versions" && form[look_up] !~ /another/ && form[look_up] != $6 "; " $7 "; " $8)
        print look_up ": " form[look_up] " becomes " $6 "; " $7 "; " $8
}

# answer: 3 name, 4 text, 5 answer
$2 == "answer" {
    if ($1 == "driver") {
        text[$3] = $4
        answer[$3] = $5
        asked++
        next
    }
    seen[$1, $3] = 1
    if ($5 == answer[$3])
        next
    if (what == "altered" && $1 == "library")
        print $4 ": " answer[$3] " becomes " $5
    if (what == "simulated" && $1 == "simcuda")
        print $4 ": " answer[$3] "; simulated: " $5
}

END {
    if (what == "agree")
        print different + 0, names + 0, missing + 0 list
    if (what == "asked")
        print asked + 0
    for (name in answer)
        if (what == "altered" && !(("library", name) in seen))
            print text[name] ": " answer[name] " becomes no answer"
}

# What cuGetProcAddress gives where dlsym gives something: its own address, or nothing because that
# form of it is not there.
function odd(given)
{
    return given != "same" && given != "none"
}

function is_lost(plain, given, wanted)
{
    return plain != "" && plain != "none" && given != wanted
}
