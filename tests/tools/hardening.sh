#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every program and library that is installed: position independent, relocations read-only once it runs, no stack that
# can be executed, and the checks of the compiler and libc in it.
. "$TAP_SH"

if ! command -v readelf >/dev/null; then skip_all "tools: readelf is not installed (package binutils)"; fi
ok "everything is installed" env DESTDIR="$T/root" meson install -C "$BUILD_DIR" --no-rebuild --quiet

# What a compiler with its startup files, asked for it, says of a program: with IBT or not.
printf 'int main(void)\n{\n    return 0;\n}\n' >"$T/plain.c"
marks=
machine=$(uname -m)
if [ "$machine" = x86_64 ]; then
    marks=SHSTK
    # shellcheck disable=SC2086 # a command and its arguments
    if ${CC:-cc} -fcf-protection -o "$T/plain" "$T/plain.c" 2>/dev/null && readelf -nW "$T/plain" | grep -q IBT; then
        marks="IBT $marks"
    fi
fi

count=0
find "$T/root" -type f | sort >"$T/files"
while read -r file; do
    if [ "$(head -c 4 "$file" | tail -c 3)" != ELF ]; then continue; fi
    name=${file##*/}
    count=$((count + 1))
    header=$(readelf -hW "$file")
    segments=$(readelf -lW "$file")
    dynamic=$(readelf -dW "$file")
    wanted=$(readelf --dyn-syms -W "$file" | awk '$7 == "UND" { sub("@.*", "", $8); print $8 }')

    matches "$name: position independent" "$header" 'Type: +DYN'
    case $name in
    *.so*) ;;
    *) matches "$name: as a program" "$dynamic" 'FLAGS_1.* PIE' ;;
    esac
    matches "$name: all symbols bound at the start" "$dynamic" 'FLAGS_1.* NOW'
    matches "$name: relocations read-only then" "$segments" 'GNU_RELRO'
    matches "$name: no stack to execute" "$segments" 'GNU_STACK +([^ ]+ +){5}RW '
    lacks "$name: nothing both written and executed" "$(echo "$segments" | grep -E '^ +LOAD')" 'RWE'
    lacks "$name: no relocations in code" "$dynamic" TEXTREL
    case $name in
    libinferogram-memory.so) ;; # src/hooks/memory/meson.build; calls nothing that libc could check
    *) matches "$name: stack protector" "$wanted" '^__stack_chk_fail$'
        if [ "$FORTIFY" = yes ]; then matches "$name: libc's checks" "$wanted" '^__.*_chk$'; fi ;;
    esac
    for mark in $marks; do
        matches "$name: control flow, $mark" "$(readelf -nW "$file")" "x86 feature: .*$mark"
    done
    # The code is ready for IBT whether or not the linker may say so: exported functions begin with a landing pad.
    if [ "$machine" = x86_64 ] && command -v objdump >/dev/null; then
        objdump -d --no-show-raw-insn "$file" >"$T/code"
        case $name in
        *.so*) readelf --dyn-syms -W "$file" | awk '$4 == "FUNC" && $7 != "UND" { sub("@.*", "", $8); print $8 }' >"$T/names" ;;
        *) echo main >"$T/names" ;;
        esac
        is "$name: functions without a landing pad" "$(awk 'FNR == NR { wanted["<" $1 ">:"] = 1; next }
            open != "" && NF { if ($2 != "endbr64") print open; open = "" }
            $2 in wanted { open = $2 }' "$T/names" "$T/code")" ""
    fi
done <"$T/files"
ok "all programs and libraries were looked at" test "$count" -ge 9

# A zone runs through these two alone: neither may have grown a canary (src/client/meson.build).
if command -v objdump >/dev/null && [ "$machine" = x86_64 ]; then
    library=$(find "$T/root" -name 'libinferogram.so.*' -type f)
    objdump -d --no-show-raw-insn "$library" >"$T/code"
    is "zones pay for no stack protector" "$(awk '/>:$/ { name = $2 }
        /%fs:0x28/ && name ~ /^<ifg_zone_(begin|end)>:$/ { print name }' "$T/code")" ""
    matches "which other functions have" "$(cat "$T/code")" '%fs:0x28'
fi
done_testing
