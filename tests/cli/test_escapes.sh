#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that control characters and invalid UTF-8 reach neither the terminal nor
# the JSON. They are in arguments, file names and the environment.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
devices 2

bad=$'a\033[31m\a\177\302\233x\377\342\200\256b'
shown='a\x1b[31m\x07\x7f\xc2\x9bx\xff\xe2\x80\xaeb'

# clean FILE...: fails if a file has a control character or invalid UTF-8.
clean() {
    python3 - "$@" <<'END' || fail "unclean output"
import sys, unicodedata
for name in sys.argv[1:]:
    text = open(name, "rb").read().decode("utf-8")
    for c in text:
        if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp"):
            sys.exit(f"{name}: U+{ord(c):04X} in {text!r}")
END
}

# escapes STATUS COMMAND...: the command shows $bad as $shown, on a terminal's
# streams and in its JSON.
escapes() {
    local status=$1 got=0
    shift
    timeout 60 "$@" >out.txt 2>err.txt </dev/null || got=$?
    [ "$got" = "$status" ] || fail "exit status $got, not $status: $*"
    cat out.txt err.txt >both.txt
    clean both.txt
    tr -d '\n' <both.txt | sed 's/  *//g; s/\\\\/\\/g' | grep -qF -- "$shown" || fail "no '$shown'"
    says "escaped: $(printf '%q ' "${@:1:3}")"
}

# ---- arguments and file names -------------------------------------------------------
escapes 2 "$peal" "$bad"
escapes 2 "$peal" info "--$bad"
escapes 2 "$peal" info "--$bad" --json
holds out.txt "d['exit_status'] == 2 and r'$shown' in d['error']"
escapes 2 "$peal" doctor --stall "$bad"
escapes 2 "$peal" run --format "$bad" xor
escapes 1 "$peal" run -i "$bad" --format lines xor
escapes 1 "$peal" run -i "$bad" --format lines --json xor
escapes 127 "$peal" spawn -n 1 -- "./$bad"
printf 'YUV4MPEG2 W4 H4 C%s\n' $'\xff\xe2\x80\xae' >bad.y4m
"$peal" run -i bad.y4m xor >out.txt 2>err.txt && fail 'a bad colour space'
clean err.txt
grep -qF 'C\xff\xe2\x80\xae' err.txt || fail 'no name of the colour space'
timeout 20 "$peal" run "x$bad" >out.txt 2>err.txt </dev/null && fail 'a bad stage'
clean err.txt
grep -q '^ *^$' err.txt || fail 'no caret below the pipeline'

# The caller chooses the name of the command.
(exec -a "$bad" "$peal" --help) >out.txt
clean out.txt
grep -q '^Usage: peal ' out.txt || fail 'the usage names another command'

# A newline of an argument makes no line of its own.
timeout 20 "$peal" $'x\npeal: all is well' >out.txt 2>err.txt && fail 'a bad command'
grep -qF 'x\npeal: all' err.txt && ! grep -q '^peal: all' err.txt || fail 'a forged line'

# ---- environment --------------------------------------------------------------------
escapes 1 env PEAL_PROBE="$bad" "$peal" info
escapes 1 env PEAL_PROBE="$bad" "$peal" info --json
holds out.txt "r'$shown' in d['error']"
escapes 1 env PEAL_PROBE="$bad" "$peal" doctor
escapes 0 env PEAL_CACHE_DIR="$work/$bad" "$peal" info
escapes 0 env PEAL_CACHE_DIR="$work/$bad" "$peal" info --json
escapes 0 env PEAL_CACHE_DIR="$work/$bad" "$peal" doctor
