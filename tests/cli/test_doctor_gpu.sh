#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that doctor finds each fault of a device, names it and suggests a fix.
# Drivers and management libraries are doubles, and doctor reports this.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
doubles=$build/doubles
[ -e "$doubles/nvml/libnvidia-ml.so.1" ] || skip 'the doubles are not built'
unset CUDA_LAUNCH_BLOCKING HIP_LAUNCH_BLOCKING CUDA_MODULE_LOADING AMD_SERIALIZE_KERNEL
export PEAL_PROBE=off # except in cases about pairs

doctor() { # STATUS DOUBLES VARIABLE=VALUE...
    local status=0
    env LD_LIBRARY_PATH="$2" "${@:3}" "$peal" doctor --json >out.json 2>err.txt || status=$?
    [ $status = "$1" ] || fail "exit status $status, not $1: peal doctor with $*"
    holds out.json "all(c['fix'] for c in d['checks'] if c['status'] in ('WARN', 'FAIL'))"
}
# finds STATUS CHECK TEXT: fails unless there is such a row.
finds() {
    holds out.json "[c for c in d['checks'] if c['status'] == '$1' and c['check'] == '$2' and '$3' in c['finding']]"
}
# built_for TARGET: succeeds if the probe of pairs has an image for it.
built_for() { [[ " ${PEAL_IMAGE_TARGETS//;/ } " == *" $1 "* ]]; }
# absent CHECK TEXT: fails unless a backend is absent for this reason. The
# status depends on the machine.
absent() {
    holds out.json "[c for c in d['checks'] if c['status'] in ('WARN', 'WAIVED') and c['check'] == '$1' and '$2' in c['finding']]"
}

# ---- no drivers --------------------------------------------------------------------
doctor 0 '' PEAL_BACKENDS=host
finds WAIVED 'backend cuda' 'excluded by PEAL_BACKENDS=host'
finds WAIVED 'backend hip' 'excluded by PEAL_BACKENDS=host'
holds out.json "not [c for c in d['checks'] if 'not in this version' in c['finding']]" \
    "not [c for c in d['checks'] if c['check'].startswith('device ')]"
doctor 0 "$doubles/hip"
absent 'backend cuda' ''
doctor 0 "$doubles/hip" PEAL_DOUBLE_FAIL=hipInit:999:0 PEAL_HOST_DEVICES=2
absent 'backend hip' 'hipInit returns'
doctor 1 "$doubles/hip" PEAL_HOST_LINKS=0-1:rope PEAL_BACKENDS=host
finds FAIL runtime PEAL_HOST_LINKS
finds PASS 'backend hip' 'which the runtime cannot use'
says 'absent backends, each with its reason'

# ---- AMD ---------------------------------------------------------------------------
amd=$doubles/hip:$doubles/rocm_smi
export PEAL_BACKENDS=hip
doctor 0 "$amd"
finds PASS 'backend hip' '2 devices, emulated'
finds PASS 'device 0' '(emulated), gfx90a'
finds PASS 'device 0' 'hip 6.3.0'
finds PASS 'device 1' 'PCI fffe:01:00.0'
finds PASS 'management library' 'librocm_smi64.so (emulated'
finds PASS watchdog '2 of 2 hip devices'
if built_for gfx90a; then
    doctor 0 "$amd" PEAL_PROBE=cache
    finds PASS pairs '2 of 2'
fi
doctor 0 "$amd" PEAL_DOUBLE_ATTRIBUTES=18:1,10:0
finds WARN watchdog 'device 1 ends kernels'
finds WARN 'cooperative launch' 'device 0'
doctor 1 "$amd" AMD_SERIALIZE_KERNEL=3
finds FAIL AMD_SERIALIZE_KERNEL 'it is 3'
finds WAIVED pairs 'not checked'
doctor 0 "$amd" PEAL_DOUBLE_SMI=init=8
finds WAIVED 'management library' 'librocm_smi64.so reports error 8'
says 'AMD'

# ThreadSanitizer does not support the 16-byte accesses of CUDA devices.
! grep -q '^PEAL_SANITIZE:[A-Z]*=thread' "$build/CMakeCache.txt" || exit 0

# ---- NVIDIA ------------------------------------------------------------------------
nvidia=$doubles/cuda:$doubles/nvml
export PEAL_BACKENDS=cuda
doctor 0 "$nvidia"
finds PASS 'backend cuda' '2 devices, emulated'
finds PASS 'device 0' '(emulated), sm_90'
finds PASS 'device 0' 'cuda 13.0'
finds PASS 'device 1' 'PCI ffff:01:00.0'
finds PASS 'management library' 'libnvidia-ml.so.1 (emulated: a double of it), driver 999.1'
finds PASS 'module loading' 'is EAGER'
for check in watchdog 'compute mode' 'cooperative launch' processes \
    persistence MIG BAR1; do
    finds PASS "$check" '2 of 2 cuda devices'
done
doctor 0 "$nvidia" CUDA_MODULE_LOADING=LAZY
finds PASS 'module loading' 'is LAZY: no fault'
doctor 1 "$nvidia" CUDA_LAUNCH_BLOCKING=1
finds FAIL CUDA_LAUNCH_BLOCKING 'it is 1'
finds WAIVED pairs 'not checked'
holds out.json "[c['fix'] for c in d['checks'] if c['status'] == 'FAIL'] == ['unset CUDA_LAUNCH_BLOCKING']"
doctor 0 "$nvidia" PEAL_DOUBLE_ATTRIBUTES=17:1 PEAL_DOUBLE_SMI=display=1
finds WARN watchdog 'a display is driven by it'
doctor 0 "$nvidia" PEAL_DOUBLE_ATTRIBUTES=17:1 PEAL_DOUBLE_FAIL_SMI=nvmlDeviceGetDisplayActive
finds WARN watchdog 'no display is known'
doctor 0 "$nvidia" PEAL_DOUBLE_ATTRIBUTES=20:3
finds WARN 'compute mode' 'one process alone'
doctor 1 "$nvidia" PEAL_DOUBLE_ATTRIBUTES=20:2
finds FAIL 'compute mode' 'reject all processes'
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=mig=1,persistence=0
finds WARN MIG 'device 0 is cut'
finds WARN persistence 'off for device 1'
holds out.json "[c for c in d['checks'] if c['check'] == 'MIG' and 'nvidia-smi -i ffff:00:00.0 -mig 0' in c['fix']]"
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=processes=3
finds WARN processes '2 other processes compute on device 1 without MPS'
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=pending=1
finds WARN MIG 'will be cut'
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=bar1=256
finds WARN BAR1 '255.0 MiB of the 256.0 MiB window of device 0'
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=bar1=256 PEAL_GPU_MEMORY=64M
finds PASS BAR1 'large enough'
doctor 0 "$nvidia" PEAL_DOUBLE_SMI=bar1=256 PEAL_DOUBLE_DEVICES=1
finds PASS BAR1 'large enough'
doctor 0 "$nvidia" PEAL_DOUBLE_FAIL_SMI=nvmlDeviceGetMigMode
holds out.json "not [c for c in d['checks'] if c['check'] == 'MIG']"
doctor 1 "$nvidia" PEAL_DOUBLE_SMI=init=18
finds FAIL 'management library' 'mismatch (18)'
if built_for sm_90 || built_for compute_75; then
    doctor 0 "$nvidia" PEAL_PROBE=cache PEAL_DOUBLE_LINKS=0-1:none
    finds WARN pair '0 to 1: no-access'
    finds WARN pair '1 to 0: no-access'
fi
says 'NVIDIA'

# A fix for several devices is printed once.
env LD_LIBRARY_PATH="$nvidia" PEAL_DOUBLE_SMI=persistence=0 "$peal" doctor >text.txt ||
    fail 'peal doctor as text'
[ "$(grep -c 'nvidia-persistenced' text.txt)" = 1 ] || fail 'a fix is said twice'
[ "$(grep -c '^WARN .*off for device' text.txt)" = 2 ] || fail 'not a row for each device'
says 'as text'
