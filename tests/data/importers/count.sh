#!/bin/sh
# Samples per lane of the golden files, by awk alone: an account that shares no code with the importers.
# `./count.sh` writes FILE.count (lane TAB samples) beside every *.ok.* file it knows; `./count.sh --check` only compares.
cd "$(dirname "$0")" || exit 1
status=0

rtla() { # rows and over: of every column, named as lanes
	awk '/^Index/ { for (i = 2; i <= NF; i++) { split($i, p, "-"); k = p[1]; c = p[2] + 0
	       name[i] = "cpu" c (k == "IRQ" ? " irq" : k == "Thr" ? " thread" : k == "Usr" ? " user" : "") } n = NF; next }
	     n && (/^[0-9]/ || /^over:/) { for (i = 2; i <= n; i++) sum[i] += $i }
	     /^over:/ { for (i = 2; i <= n; i++) printf "%s\t%d\n", name[i], sum[i]; exit }' "$1"
}
oslat_text() {
	awk '/Core:/ { for (i = 2; i <= NF; i++) cpu[i - 1] = $i; n = NF - 1 }
	     /^ *[0-9]+ \(us\):/ { for (i = 1; i <= n; i++) sum[i] += $(i + 2) }
	     END { for (i = 1; i <= n; i++) printf "cpu%s\t%d\n", cpu[i], sum[i] }' "$1"
}
oslat_json() {
	awk -F'[:,]' '/"cpu":/ { cpu = $2 + 0; order[++n] = cpu } /"histogram":/ { inside = 1; next } inside && /}/ { inside = 0 }
	     inside { sum[cpu] += $2 } END { for (i = 1; i <= n; i++) printf "cpu%d\t%d\n", order[i], sum[order[i]] }' "$1"
}
rteval() {
	awk -F'"' '/<core / { cpu = $2; order[++n] = cpu; inside = 1 } /<\/core>/ { inside = 0 }
	     inside && /<bucket / { sum[cpu] += $4 } END { for (i = 1; i <= n; i++) printf "cpu%s\t%d\n", order[i], sum[order[i]] }' "$1"
}
osadl() { # counts in the classes, and the one sample that a maximum beyond them proves; without a first column that counts up from 0
	tr -d ' \t\n' <"$1" | awk '{
		k = 0
		if (match($0, /"maxima":\[[^]]*\]/)) { m = substr($0, RSTART + 10, RLENGTH - 11); gsub(/"/, "", m); k = split(m, top, ",") }
		match($0, /"cores":\[\[[^a-z]*\]\]/); n = split(substr($0, RSTART + 10, RLENGTH - 12), row, /\],\[/)
		for (i = 1; i <= n; i++) {
			b = split(row[i], v, ","); s = 0; up = 1
			for (j = 1; j <= b; j++) { s += v[j]; if (v[j] != j - 1) up = 0 }
			if (i == 1 && up && k != n) continue
			printf "core%d\t%d\n", l, s + (k && top[l + 1] + 0 >= b); l++
		} }'
}
hwlatdetect() { # windows in the time, or samples if there are more
	awk '/test duration/ { s = $4 } /Sample window:/ { w = $3 + 0 } /ts: .*inner:/ { n++ } END { k = int(s * 1000000 / w); printf "hwlat\t%d\n", (k > n ? k : n) }' "$1"
}
hgrm() { awk '/^#\[Max/ { gsub(/[^0-9.]/, " ", $0); printf "all\t%d\n", $NF }' "$1"; }
table() { awk '!/^#/ && NF' "$1" | awk 'END { printf "all\t%d\n", NR - 1 }'; }

console() { # counts of the bins, of every lane
	tr -d '\r' <"$1" | awk '{ at = index($0, "@RTL1 ") } !at { next } { $0 = substr($0, at) } $3 == "H" {
		split($4, lane, "="); l = lane[2]; if (!(l in sum)) order[++n] = l
		for (i = 6; i < NF; i++) { split($i, bin, ":"); sum[l] += bin[2] } }
	     END { for (i = 1; i <= n; i++) printf "%s\t%d\n", order[i], sum[order[i]] }'
}

for file in */*.ok.*; do
	case "$file" in
	*.count) continue ;;
	rtla-*) made=$(rtla "$file") ;;
	oslat/*.txt) made=$(oslat_text "$file") ;;
	oslat/*.json) made=$(oslat_json "$file") ;;
	rteval/*) made=$(rteval "$file") ;;
	osadl/*) made=$(osadl "$file") ;;
	rt-bench/*) made=$(awk -F, '$8 + 0 > 0 { n++ } END { printf "job\t%d\n", n }' "$file") ;;
	hwlatdetect/*) made=$(hwlatdetect "$file") ;;
	hgrm/*) made=$(hgrm "$file") ;;
	console/*) made=$(console "$file") ;;
	table/*) made=$(table "$file") ;;
	parquet/two-cpus.ok.parquet) made=$(table table/two-cpus.ok.csv) ;; # made from that file
	*) continue ;;
	esac
	if [ "$1" = --check ]; then
		[ "$made" = "$(cat "$file.count")" ] || { echo "$file.count differs"; status=1; }
	else
		printf '%s\n' "$made" >"$file.count"
	fi
done
exit $status
