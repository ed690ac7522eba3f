#!/bin/sh
# Samples per lane of the golden files of cyclictest and jitterdebugger, by awk alone: no code shared with the importers.
# `./count_cyclictest.sh` writes FILE.count (lane TAB samples) beside every *.ok.* file; `--check` only compares.
cd "$(dirname "$0")" || exit 1
status=0

text() { # rows plus overflow per thread; without rows the cycles of the last T: line
	tr -d '\r' <"$1" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/^\[[^]]*\] *//; s/^[0-9-]* [0-9:.]* \([0-9#]\)/\1/' | awk '
	     /^[0-9]+ [0-9]+([ \t][0-9]+)*$/ && length($1) == 6 { rows = 1; if (NF - 1 > n) n = NF - 1; for (i = 2; i <= NF; i++) sum[i - 2] += $i }
	     /^# Min Latencies:/ { lanes = NF - 3 }
	     /^# Histogram Overflows:/ { for (i = 4; i <= NF; i++) over[i - 4] = $i }
	     /^T:/ { split($0, p, /[ :(]+/); t = p[2]; match($0, /C: *[0-9]+/); c = substr($0, RSTART + 2, RLENGTH - 2); cycles[t] = c + 0; if (t + 1 > threads) threads = t + 1 }
	     END { if (!rows) for (i = 0; i < threads; i++) printf "%d\t%d\n", i, cycles[i]
	           else { if (!lanes) lanes = n; for (i = 0; i < lanes; i++) printf "%d\t%d\n", i, sum[i] + over[i] } }'
}
verbose() {
	tr -d '\r' <"$1" | sed 's/^\[[^]]*\] *//' | awk -F: 'NF == 3 && /^ *[0-9]+: *[0-9]+: *[0-9]+$/ { n[$1 + 0]++ } END { for (i = 0; i in n; i++) printf "%d\t%d\n", i, n[i] }'
}
json() { awk -v key="$2" -F'[:,]' '$0 ~ "\"" key "\":" { printf "%d\t%d\n", l++, $2 }' "$1"; }
benchkit() { # numbers in each list
	tr -d ' \n' <"$1" | awk '{ for (i = 0; match($0, "\"thread" i "\":\\[[^]]*\\]"); i++) { m = substr($0, RSTART, RLENGTH); printf "%d\t%d\n", i, gsub(/,/, ",", m) + 1 } }'
}
columns() { awk -F, 'NR == 1 { for (i = 2; i <= NF; i++) name[i] = $i; n = NF; next } { for (i = 2; i <= n; i++) sum[i] += $i } END { for (i = 2; i <= n; i++) printf "%s\t%d\n", name[i], sum[i] }' "$1"; }
raw() { od -An -v -tu4 -w"$2" --endian="$3" "$1" | awk '{ n[$1]++ } END { for (i = 0; i in n; i++) printf "%d\t%d\n", i, n[i] }'; }

for file in */*.ok.*; do
	case "$file" in
	*.count) continue ;;
	cyclictest/*) made=$(text "$file") ;;
	cyclictest-verbose/*) made=$(verbose "$file") ;;
	cyclictest-json/* | cyclicdeadline/*) made=$(json "$file" cycles) ;;
	benchkit/*) made=$(benchkit "$file") ;;
	csv-histogram/*) made=$(columns "$file") ;;
	jitterdebugger/*) made=$(json "$file" count) ;;
	jitterdebugger-raw/armv7*) made=$(raw "$file" 20 little) ;;
	jitterdebugger-raw/mips*) made=$(raw "$file" 28 big) ;;
	jitterdebugger-raw/*) made=$(raw "$file" 28 little) ;;
	*) continue ;;
	esac
	if [ "$1" = --check ]; then
		[ "$made" = "$(cat "$file.count")" ] || { echo "$file.count differs"; status=1; }
	else
		printf '%s\n' "$made" >"$file.count"
	fi
done
exit $status
