#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# labels: package
# The installed documents: every link leads to an installed file. An installed
# example compiles and runs without the source tree.
set -euo pipefail
: "${PEAL_SOURCE_DIR:?}" "${PEAL_BUILD_DIR:?}"
for tool in python3 pkg-config; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
fail() { echo "FAIL: $*"; exit 1; }

cmake --install "$PEAL_BUILD_DIR" --prefix "$prefix" >"$work/log" ||
    { cat "$work/log"; fail 'cmake --install'; }
docs=$(dirname "$(find "$prefix" -name guide.md)")
for file in include/FEATURES.md runtime/pkg/README.md examples/README.md; do
    [ -e "$docs/$file" ] || fail "not installed: $file"
done
python3 "$PEAL_SOURCE_DIR/tests/package/installed_links.py" "$docs" ||
    fail 'links of installed pages'

# A page with a wrong link: the check finds it.
mkdir "$work/planted"
echo '[one](missing.md) [two](#none)' >"$work/planted/page.md"
if python3 "$PEAL_SOURCE_DIR/tests/package/installed_links.py" "$work/planted" \
    >"$work/log" || [ "$(grep -c '^FAIL' "$work/log")" != 2 ]; then
    cat "$work/log"
    fail 'the planted links were not found'
fi

# The commands of examples/README.md.
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name peal.pc)")
export PKG_CONFIG_PATH
cp -r "$docs/examples" "$work/examples"
cd "$work/examples"
"$(pkg-config --variable=peal_cc peal)" --targets host programs/hello.c -o hello.o
# shellcheck disable=SC2046
cc -D_GNU_SOURCE 01_hello.c hello.o $(pkg-config --cflags --libs peal) -o hello
PEAL_BACKENDS=host ./hello
