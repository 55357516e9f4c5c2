#!/usr/bin/env bash
# Do results hang on the processor? Runs tests once for each kind of kernels, and prints a table.
#   scripts/other_cpus.sh [pytest arguments, such as test/planning]     default: all without nodes
# OPENBLAS_CORETYPE chooses OpenBLAS's kernels, NPY_DISABLE_CPU_FEATURES takes numpy's own away. Exit
# status 1 where a test fails. SETTINGS="Haswell numpy-without-AVX2" runs only these.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
set +u; source scripts/env.sh; set -u
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
[ $# -gt 0 ] || set -- -n 2 --dist loadfile
logs="$(mktemp -d)"
trap 'rm -rf "$logs"' EXIT

dispatched() { # numpy's features whose names match; those of its baseline can't be disabled
  python -c '
import re, sys
from numpy._core._multiarray_umath import __cpu_dispatch__ as names
print(*[name for name in names if re.match(sys.argv[1], name)])' "$1"
}
run() { # name, variable=value
  local log="$logs/$1" began=$SECONDS
  env "$2" python -m pytest -q -p no:cacheprovider -m 'not ros' "${@:3}" > "$log" 2>&1
  local status=$?
  printf '| %-22s | %6s | %6s | %7s | %5d | %s |\n' "$1" "$(count "$log" failed)" "$(count "$log" passed)" \
    "$(count "$log" skipped)" $((SECONDS - began)) "$(sed -nE 's/^(FAILED|ERROR) ([^ ]+).*/\2/p' "$log" | tr '\n' ' ')"
  [ $status -eq 0 ] || failed=1
}
count() { tail -n 1 "$1" | grep -oE "[0-9]+ $2" | cut -d' ' -f1 || true; }

failed=0
settings="${SETTINGS:-Prescott Sandybridge Haswell Zen SkylakeX numpy-without-AVX-512 numpy-without-AVX2}"
printf '| kernels                | failed | passed | skipped |     s | which |\n| --- | --- | --- | --- | --- | --- |\n'
for setting in $settings; do
  case $setting in
    numpy-without-AVX-512) run "$setting" "NPY_DISABLE_CPU_FEATURES=$(dispatched 'AVX512|X86_V4')" "$@" ;;
    numpy-without-AVX2) run "$setting" "NPY_DISABLE_CPU_FEATURES=$(dispatched 'AVX|FMA|X86_V')" "$@" ;;
    *) run "$setting" "OPENBLAS_CORETYPE=$setting" "$@" ;;
  esac
done
exit $failed
