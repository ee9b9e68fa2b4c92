#!/bin/sh
# A JSON report is JSON, holds each counter of pool/stats.def with its exact value and nothing
# else, and null for what is absent. Usage: check_report_json.sh PRINT_REPORT
set -eu
command -v python3 >/dev/null || {
    echo "skipped: python3 is not installed"
    exit 77
}
print_report=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$print_report" json >"$work/json"
"$print_report" list >"$work/list"
python3 - "$work/json" "$work/list" <<'PYTHON'
import json
import sys


def without_twins(members):
    names = [name for name, _ in members]
    assert len(names) == len(set(names)), names
    return dict(members)


def expect(what, wanted, got):
    if got != wanted:
        sys.exit(f"FAILED: {what}\n  wanted: {wanted!r}\n  got:    {got!r}")


with open(sys.argv[1], encoding="ascii") as file:
    report = json.load(file, object_pairs_hook=without_twins)
counters = {}
with open(sys.argv[2], encoding="ascii") as file:
    for group, name, value in (line.split() for line in file):
        counters.setdefault(group, {})[name] = int(value)

devices = report.pop("devices")
host = report.pop("host")
expect("schema", "tidemark.report/1", report.pop("schema"))
expect("version", "1.2.3", report.pop("tidemark"))
expect("process", 4242, report.pop("process_id"))
expect("program, byte by byte", '/opt/a "b"\\c\n\u00c3\u00a9', report.pop("program"))
expect("retention", "on", report.pop("retention"))
expect("device_retention", "off: valgrind", report.pop("device_retention"))
expect("counters", counters, report)
expect("a device with a default ceiling", {
    "ordinal": 0, "ceiling_bytes": 85899345920, "ceiling_source": "device less headroom",
    "device_limit_bytes": 101059813376, "charged_bytes": 1048576,
    "peak_charged_bytes": 2097152, "refusals": 3, "managed_bytes": 4096,
    "observed_bytes": 3145728, "external_bytes": 2097151}, devices[0])
expect("a device that reports no limit", {
    "ordinal": 1, "ceiling_bytes": 1000, "ceiling_source": "request",
    "device_limit_bytes": None, "charged_bytes": 999, "peak_charged_bytes": 1000,
    "refusals": 2**64 - 1, "managed_bytes": 0, "observed_bytes": None,
    "external_bytes": None}, devices[1])
expect("a device without a ceiling", {
    "ordinal": 7, "ceiling_bytes": None, "ceiling_source": "unbudgeted",
    "device_limit_bytes": 101059813376, "charged_bytes": 0, "peak_charged_bytes": 0,
    "refusals": 0, "managed_bytes": 0, "observed_bytes": None, "external_bytes": None},
    devices[2])
expect("devices", 3, len(devices))
expect("host memory with a ceiling", {
    "name": "page-locked memory", "ceiling_bytes": 4096,
    "ceiling_source": "request capped by headroom", "usable_bytes": 5000, "charged_bytes": 7,
    "peak_charged_bytes": 4096, "refusals": 2}, host[0])
expect("host memory without one", {
    "name": "heap memory", "ceiling_bytes": None, "ceiling_source": "unbudgeted",
    "usable_bytes": None, "charged_bytes": 65536, "peak_charged_bytes": 131072,
    "refusals": 0}, host[1])
expect("kinds of host memory", 2, len(host))
print(sum(map(len, counters.values())), "counters and", len(devices), "devices are exact")
PYTHON
