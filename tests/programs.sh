#!/bin/bash
# Unmodified programs say the same with the library preloaded as without it:
#   tests/programs.sh LIBRARY [NAME=VALUE...]
# Each program runs twice in an empty folder, plain and with LD_PRELOAD=LIBRARY and the given
# environment. Standard output, standard error and exit status must agree byte for byte. A
# program that is not installed is named and skipped.
set -u

# The table. A row is a line "name | commands it needs" and, indented, the shell commands to
# run, which must do the same every time. $INPUT holds words (3 MB), hello.c, hello.cpp,
# hello.rs and Crew.java. Most rows hold some MB at once: blocks of staging size are the point.
rows()
{
    cat <<'ROWS'
sh | sh
    text=x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do text=$text$text; done
    echo ${#text}; (exit 3)
bash | bash
    bash -c 'a=({1..50000}); s="${a[*]}${a[*]}"; echo ${#s} $(echo ${a[@]} | cksum); exit 7'
cat missing file | cat
    cat "$INPUT/none"
awk | awk
    awk '{ n[$2] += $1 } NR < 2000 { all = all $0 } END { print length(n), length(all), n["word7"] }' \
        "$INPUT/words"
sed | sed
    sed -e 's/word/W/g' -e '$!N;P;D' "$INPUT/words" | cksum
grep | grep
    grep -c 'word1[0-9]*1$' "$INPUT/words"
diff | diff
    sed 's/word99/changed/' "$INPUT/words" >new; diff "$INPUT/words" new | cksum
sort | sort
    sort -k2,2 -k1,1n --parallel=2 -S 64M "$INPUT/words" | cksum
tar | tar
    tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - -C "$INPUT" . | cksum
gzip | gzip
    gzip -9nc "$INPUT/words" >z; cksum <z; gzip -dc z | cmp - "$INPUT/words"
bzip2 | bzip2
    bzip2 -c "$INPUT/words" >z; cksum <z; bzip2 -dc z | cmp - "$INPUT/words"
xz threads | xz
    xz -T2 --block-size=1MiB -c "$INPUT/words" >z; cksum <z; xz -dc z | cmp - "$INPUT/words"
zstd threads | zstd
    zstd -q -T2 -12 -c "$INPUT/words" >z; cksum <z; zstd -qdc z | cmp - "$INPUT/words"
lz4 | lz4
    lz4 -q -9 -c "$INPUT/words" >z; cksum <z; lz4 -qdc z | cmp - "$INPUT/words"
openssl | openssl
    openssl dgst -sha256 <"$INPUT/words"
    openssl enc -aes-256-cbc -K 00 -iv 00 -in "$INPUT/words" 2>/dev/null | cksum
curl | curl
    curl -s "file://$INPUT/words" | cksum; curl -sS file:///none
file | file
    file -b "$INPUT/hello.c" "$INPUT/words" /bin/sh
bc | bc
    echo '2^60000 % 1000003; scale = 300; 4 * a(1)' | bc -l
m4 | m4
    printf 'define(`d'"'"',`$1$1'"'"')d(d(d(len(d(d(text))))))\n' | m4; m4 "$INPUT/words" | cksum
busybox | busybox
    busybox sort "$INPUT/words" | busybox md5sum; busybox gzip -c <"$INPUT/words" | busybox wc -c
sqlite3 | sqlite3
    sqlite3 t.db "CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1
        FROM n WHERE i < 100000) SELECT i, i * 7919 % 100003 AS h FROM n; CREATE INDEX x ON t(h);
        SELECT count(*), sum(h), length(group_concat(h)) FROM t; VACUUM;
        SELECT length(hex(zeroblob(10000000))); PRAGMA integrity_check; SELECT nothing"
jq | jq
    jq -n '[range(200000) | {k: ., s: tostring}] | (map(.k) | add), (map(.s) | add | length)'
ctags | ctags
    ctags --options=NONE -f - "$INPUT/hello.c" "$INPUT/hello.cpp"
gcc | gcc
    gcc -O2 -Wall -g "$INPUT/hello.c" -o hello -pthread && ./hello a b; echo $?; cksum <hello
    gcc -Wall -fsyntax-only -x c "$INPUT/hello.cpp"
gcc lto | gcc
    gcc -O2 -flto "$INPUT/hello.c" -o hello -pthread && ./hello
g++ | g++
    g++ -O1 "$INPUT/hello.cpp" -o hello && ./hello
clang | clang
    clang -O2 -Wall "$INPUT/hello.c" -o hello -pthread && ./hello a; cksum <hello
rustc | rustc
    rustc -O -C codegen-units=2 "$INPUT/hello.rs" -o hello && ./hello
binutils | gcc objdump nm strip
    gcc -g -c "$INPUT/hello.c" -o hello.o
    objdump -dlS hello.o | cksum; nm hello.o; strip hello.o; cksum <hello.o
make | make
    printf 'all: a b c\na b c:\n\t@sort $(INPUT)/words >$@; test $@ != c\n' >Makefile
    make -j2 -s -k; ls
cmake | cmake
    cmake --version
    printf 'string(REPEAT "abc" 1000000 t)\nstring(SHA256 h "${t}")\nmessage("${h}")\n' >s.cmake
    cmake -P s.cmake
git | git
    export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b
    export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
    export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
    git init -q -b main . && cp "$INPUT"/* . && git add . && git commit -q -m first
    sed -i s/word1/other/ words && git commit -q -am second
    git -c gc.auto=0 gc -q --aggressive && git fsck --no-progress && git log --stat && git show | cksum
    git checkout nowhere
gdb | gdb gcc
    gcc -g "$INPUT/hello.c" -o hello -pthread
    gdb -nx -batch -ex 'info line main' -ex 'break main' -ex run -ex 'print argc' -ex 'print argc * 7' \
        --args ./hello a b 2>&1 | sed -n 's/^\$[0-9]* = /value /p; /^Line/p'
valgrind | valgrind
    valgrind -q --error-exitcode=9 true
strace | strace
    strace -qq -e trace=chdir -e signal=none sh -c 'cd / && exit 5'
perl | perl
    perl -e 'my @a = map { chr(65 + $_ % 26) x ($_ * 1000) } 1 .. 150; my $s = join ",", @a;
        print length($s), " ", unpack("%32C*", $s), "\n"; my $p = fork // die;
        exit 4 unless $p; waitpid $p, 0; print $? >> 8, "\n"; die "end\n"'
python3 | python3
    python3 -c 'if True:
        import hashlib, json, sys, threading, zlib
        def work(i):
            data = bytes(range(256)) * (4096 * (i + 1))
            sums[i] = hashlib.sha256(zlib.decompress(zlib.compress(data))).hexdigest()
        sums = {}
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        [t.start() for t in threads], [t.join() for t in threads]
        print(json.dumps(sums, sort_keys=True))
        grown = bytearray()
        while len(grown) < 40000000: grown += b"x" * 300000
        print(len(grown), sum(grown[::4096]), file=sys.stderr)
        raise SystemExit(6)'
python3 processes | python3
    python3 -c 'if True:
        import multiprocessing as m
        with m.get_context("fork").Pool(2) as pool:
            print(pool.map(len, [b"y" * (i << 16) for i in range(1, 33)]))
        import subprocess; print(subprocess.run(["python3", "-c", "1/0"]).returncode)'
lua | lua5.4
    lua5.4 -e 't = {} for i = 1, 200000 do t[i] = ("z"):rep(i % 50) end print(#table.concat(t))
        print(#(("abc"):rep(5000000)))'
tclsh | tclsh
    echo 'set s [string repeat abc 4000000]; puts [string length $s]
        for {set i 0} {$i < 100000} {incr i} { lappend l $i }; puts [llength [lreverse $l]]' | tclsh
ruby | ruby
    ruby -e 'a = (1..200).map { |i| "r" * (i * 1000) }; puts a.join.sum, a.map(&:size).sum
        puts 4.times.map { |i| Thread.new { ("q" * (i << 20)).size } }.map(&:value).inspect'
php | php
    php -n -r '$a = []; for ($i = 0; $i < 100; $i++) $a[] = str_repeat(chr(65 + $i % 26), $i * 1000);
        echo md5(implode($a)), " ", strlen(implode($a)), "\n"; exit(8);'
node | node
    node -e 'const w = require("worker_threads"), c = require("crypto");
        const job = "const w = require(`worker_threads`);" +
            "w.parentPort.postMessage(Buffer.alloc(w.workerData << 20, `ab`).toString(`latin1`).length)";
        Promise.all([1, 2, 3, 4].map(n => new Promise(done =>
            new w.Worker(job, {eval: true, workerData: n}).on("message", done)))).then(r => {
                console.log(r, c.createHash("sha256").update(Buffer.alloc(3e7, "x")).digest("hex"));
                console.error("end"); process.exitCode = 5; })'
java | java javac
    javac -d . "$INPUT/Crew.java" && java -Xmx128m Crew
ffmpeg | ffmpeg
    ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=1280x720:rate=24:duration=0.5 \
        -vf scale=960x540,format=yuv420p -threads 2 -c:v mpeg4 -bitexact -f framemd5 -
ROWS
}

make_input()
{
    awk 'BEGIN { x = 1; for (i = 0; i < 200000; i++) {
        x = x * 16807 % 2147483647; print x " word" x % 1000 } }' >words
    cat >hello.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *size)
{
    return memset(malloc((size_t)size), 1, (size_t)size);
}
int main(int argc, char **argv)
{
    pthread_t thread[4];
    size_t sum = 0;
    int unused;
    for (size_t i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, work, (void *)((i + 1) << 20));
    for (size_t i = 0; i < 4; i++) {
        void *block;
        pthread_join(thread[i], &block);
        for (size_t at = 0; at < (i + 1) << 20; at++)
            sum += (size_t)((char *)block)[at];
        free(block);
    }
    printf("%s: %d arguments, %zu\n", argv[0], argc, sum);
    return argc;
}
C
    cat >hello.cpp <<'CPP'
#include <algorithm>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <vector>
int main()
{
    std::vector<std::string> words;
    std::map<std::size_t, int> lengths;
    for (int i = 0; i < 200000; i++)
        words.push_back(std::string(i % 40, 'w') + std::to_string(i * 7919 % 200003));
    std::sort(words.begin(), words.end());
    for (const auto &word : words)
        lengths[word.size()]++;
    try {
        volatile std::size_t much = ~std::size_t{0} / 2;
        delete[] new char[much];
    } catch (const std::bad_alloc &e) {
        std::cout << e.what() << '\n';
    }
    std::cout << words[1000] << ' ' << lengths.size() << '\n';
}
CPP
    cat >hello.rs <<'RUST'
use std::thread;
fn main() {
    let threads: Vec<_> = (1..5usize).map(|i| thread::spawn(move || vec![i as u8; i << 20])).collect();
    let sum: usize = threads.into_iter().map(|t| t.join().unwrap().iter().map(|b| *b as usize).sum::<usize>()).sum();
    println!("{sum}");
}
RUST
    cat >Crew.java <<'JAVA'
import java.nio.ByteBuffer;
public class Crew {
    public static void main(String[] args) throws Exception {
        long[] sums = new long[4];
        Thread[] crew = new Thread[4];
        for (int i = 0; i < crew.length; i++) {
            int index = i;
            crew[i] = new Thread(() -> {
                for (int round = 0; round < 20; round++) {
                    ByteBuffer block = ByteBuffer.allocateDirect((index + 1) << 18);
                    for (int at = 0; at < block.capacity(); at += 512) block.put(at, (byte) 3);
                    for (int at = 0; at < block.capacity(); at++) sums[index] += block.get(at);
                }
            });
            crew[i].start();
        }
        for (Thread t : crew) t.join();
        System.out.println(java.util.Arrays.toString(sums));
        System.err.println("end");
        System.exit(3);
    }
}
JAVA
}

# run WHERE SCRIPT [ENV...]: leave stdout, stderr and status of the script in folder WHERE.
run()
{
    local where=$1 script=$2
    shift 2
    rm -rf "$scratch/row"
    mkdir -p "$where" "$scratch/row"
    (cd "$scratch/row" && exec timeout -k 5 60 env "$@" sh -c "$script") \
        >"$where/stdout" 2>"$where/stderr" </dev/null
    echo "exit status $?" >"$where/status"
}

# A status of 124 is the time limit's: two runs that both hang are no agreement.
compare()
{
    local name=$1 needs=$2 script=$3 command
    for command in $needs; do
        if ! command -v "$command" >/dev/null; then
            echo "skip $name: $command is not installed"
            skipped=$((skipped + 1))
            return
        fi
    done
    run "$scratch/plain" "$script"
    run "$scratch/preloaded" "$script" "${preload[@]}"
    # Said where it is so, of a program with a malloc of its own.
    sed -i '/^tidemark: TIDEMARK_HEAP_MEM has no effect here: /d' "$scratch/preloaded/stderr"
    if (cd "$scratch" && diff -ru plain preloaded) >"$scratch/difference" &&
        ! grep -q ' 124$' "$scratch/plain/status"; then
        echo "ok $name"
        passed=$((passed + 1))
    else
        echo "not ok $name"
        head -c 4000 "$scratch/difference"
        echo "plain run: $(cat "$scratch/plain/status")"
        failed=$((failed + 1))
    fi
}

# Without this, a library that the loader cannot load would agree with everything.
check_preload_is_mapped()
{
    if env "${preload[@]}" grep -qF "$library" /proc/self/maps; then
        echo 'ok the library is mapped'
        passed=$((passed + 1))
    else
        echo "not ok $library is not mapped into a program that preloads it"
        failed=$((failed + 1))
    fi
}

if [ $# -lt 1 ] || [ ! -f "$1" ]; then
    echo "usage: tests/programs.sh LIBRARY [NAME=VALUE...]" >&2
    exit 2
fi
library=$(realpath "$1")
shift
preload=("LD_PRELOAD=$library" "$@")

unset LD_PRELOAD "${!TIDEMARK@}"
export LC_ALL=C TZ=UTC
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export INPUT=$scratch/input
mkdir "$INPUT"
(cd "$INPUT" && make_input)

passed=0 failed=0 skipped=0
check_preload_is_mapped
name='' needs='' script=''
while IFS= read -r line; do
    case $line in
    ' '*)
        script+=${line#    }$'\n'
        continue
        ;;
    esac
    [ -z "$name" ] || compare "$name" "$needs" "$script"
    name=${line%% | *} needs=${line#* | } script=''
done < <(rows && echo 'end | ')

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
